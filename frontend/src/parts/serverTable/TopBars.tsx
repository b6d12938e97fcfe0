import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import type { Definition } from "../../text/definitions";
import { NOTHING, written } from "../../text/formats";
import { numberOf, textOf, type TableRow } from "./rows";

interface TopBarsProps {
  title: string;
  rows: readonly TableRow[];
  /** Column that the bars are of. */
  column: string;
  definition: Definition;
  onSelect: (id: number) => void;
}

/** The most expensive rows as bars; the table below says the same. */
export function TopBars({ title, rows, column, definition, onSelect }: TopBarsProps): ReactElement {
  const most = Math.max(...rows.map((row) => numberOf(row, column) ?? 0), 0);
  return (
    <section className="facet top-bars" aria-label={title}>
      <h2>{title}</h2>
      <ol>
        {rows.map((row) => {
          const value = numberOf(row, column);
          return (
            <li key={String(row.id)}>
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  onSelect(Number(row.id));
                }}
              >
                <Name text={textOf(row, "name")} />
              </button>
              <ShareBar share={most > 0 ? (value ?? 0) / most : null} />
              <span>{definition.unit ? written(value, definition.unit) : NOTHING}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
