import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { NOTHING, written } from "../../text/formats";
import { numberOf, textOf, type TableRow } from "./rows";
import type { ServerColumn } from "./ServerTable";

/** What the table says of a row, in full. */
export function RowFacts({
  row,
  columns,
}: {
  row: TableRow;
  columns: readonly ServerColumn[];
}): ReactElement {
  return (
    <dl className="facts">
      {columns
        .filter(({ id }) => id !== "name" && id !== "stack")
        .map(({ id, definition }) => (
          <div key={id} title={definition.text}>
            <dt>{definition.title}</dt>
            <dd>{factText(row, id, definition.unit)}</dd>
          </div>
        ))}
    </dl>
  );
}

function factText(
  row: TableRow,
  id: string,
  unit: ServerColumn["definition"]["unit"],
): ReactElement | string {
  const value = row[id] ?? null;
  if (value === null || value === "") return NOTHING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return unit === undefined ? (
    <Name text={textOf(row, id)} className="wrap" />
  ) : (
    written(numberOf(row, id), unit)
  );
}
