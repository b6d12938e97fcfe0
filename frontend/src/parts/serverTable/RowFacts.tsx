import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { Facts } from "../../components/SmallTable";
import { NOTHING, written } from "../../text/formats";
import type { ServerColumn } from "./ServerTable";
import { numberOf, type TableRow, textOf } from "./rows";

/** What the table says of a row, in full. */
export function RowFacts({
  row,
  columns,
}: {
  row: TableRow;
  columns: readonly ServerColumn[];
}): ReactElement {
  return (
    <Facts
      of={columns
        .filter(({ id }) => id !== "name" && id !== "stack")
        .map(({ id, definition }) => [definition, factText(row, id, definition.unit)])}
    />
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
