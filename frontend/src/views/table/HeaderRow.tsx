import type { Header, Table } from "@tanstack/react-table";
import type { ReactElement } from "react";

import type { features } from "./features";

interface HeaderRowProps<Row extends object> {
  table: Pick<Table<typeof features, Row>, "getHeaderGroups">;
}

export function HeaderRow<Row extends object>({ table }: HeaderRowProps<Row>): ReactElement {
  const headers = table.getHeaderGroups()[0]?.headers ?? [];
  return (
    <div role="rowgroup" className="table-head">
      <div role="row" aria-rowindex={1} className="table-row">
        {headers.map((header) => (
          <HeaderCell key={header.id} header={header} />
        ))}
      </div>
    </div>
  );
}

function HeaderCell<Row extends object>({
  header,
}: {
  header: Header<typeof features, Row>;
}): ReactElement {
  const notes = header.column.columnDef.meta;
  const sorted = header.column.getIsSorted();
  return (
    <div
      role="columnheader"
      aria-sort={sorted === false ? "none" : sorted === "asc" ? "ascending" : "descending"}
      className={`cell ${notes?.align ?? "start"}`}
    >
      <button
        type="button"
        className="sort"
        title={notes?.definition.text}
        onClick={() => {
          header.column.toggleSorting(sorted === false ? notes?.align === "end" : sorted === "asc");
        }}
      >
        {sorted !== false && (
          <span className="sort-mark" aria-hidden="true">
            {sorted === "asc" ? "▲" : "▼"}
          </span>
        )}
        {notes?.definition.title}
      </button>
    </div>
  );
}
