import type { CSSProperties, ReactElement } from "react";

import { Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import type { Definition } from "../../text/definitions";
import { durationScale, NOTHING, scaledDuration, written, type Unit } from "../../text/formats";
import { numberOf, textOf, type TableRow } from "./rows";
import { largest } from "./scales";

interface TopBarsProps {
  title: string;
  /** What the rows are of: "whole trace, 3 steps". */
  of: string;
  rows: readonly TableRow[];
  /** How many rows there is room for, whether they are there yet or not. */
  room: number;
  /** Column that the bars are of. */
  column: string;
  definition: Definition;
  /** Whether the rows are kernels. */
  kernel: boolean;
  /** What tells rows of one name apart. */
  detail?: ((row: TableRow) => string) | undefined;
  onSelect: (id: number) => void;
}

/** The most expensive rows as bars; the table below says the same. */
export function TopBars(props: TopBarsProps): ReactElement {
  const { title, of, rows, room, column, definition, kernel, detail, onSelect } = props;
  const most = largest(rows, column);
  return (
    <section className="facet top-bars" aria-label={title}>
      <h2>
        {title} <span className="muted">{of}</span>
      </h2>
      <ol style={{ "--rows": room } as CSSProperties}>
        {rows.map((row) => {
          const value = numberOf(row, column);
          return (
            <li key={String(row.id)}>
              <button type="button" className="quiet" onClick={() => onSelect(Number(row.id))}>
                <Name kernel={kernel} text={textOf(row, "name")} />
                {detail !== undefined && <Name text={detail(row)} className="muted" />}
              </button>
              <ShareBar share={most > 0 ? (value ?? 0) / most : null} />
              <span>{amount(value, definition.unit, most)}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** A bar's amount: all durations in the unit of the largest. */
function amount(value: number | null, unit: Unit | undefined, most: number): string {
  if (unit === undefined) return NOTHING;
  return unit === "us" ? scaledDuration(value, durationScale(most)) : written(value, unit);
}
