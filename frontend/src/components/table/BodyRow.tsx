import { FlexRender, type Row as ModelRow } from "@tanstack/react-table";
import type { ReactElement } from "react";

import type { DataTableProps } from "./props";
import type { features } from "./features";

interface BodyRowProps<Row extends object> {
  row: ModelRow<typeof features, Row>;
  table: DataTableProps<Row>;
  /** What the ids of this table's rows begin with. */
  domId: string;
  index: number;
  top: number;
  atCursor: boolean;
}

export function BodyRow<Row extends object>(props: BodyRowProps<Row>): ReactElement {
  const { row, table, atCursor } = props;
  const branch = table.branch?.(row.original);
  const selected = row.id === table.selected;
  const hovered = row.id === table.hovered;
  const marks = { hovered, selected, "at-cursor": atCursor };
  const names = Object.entries(marks).flatMap(([name, on]) => (on ? [name] : []));
  return (
    <div
      id={`${props.domId}${row.id}`}
      role="row"
      className={["table-row", ...names].join(" ")}
      aria-rowindex={props.index + 2}
      aria-selected={selected}
      aria-level={branch?.level}
      aria-expanded={branch?.open ?? undefined}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={() => {
        table.onSelect(row.id);
      }}
      onMouseEnter={() => table.onHover?.(row.id)}
      onMouseLeave={() => table.onHover?.(null)}
    >
      {row.getAllCells().map((cell) => (
        <div
          key={cell.id}
          role="gridcell"
          className={`cell ${cell.column.columnDef.meta?.align ?? "start"}`}
        >
          <FlexRender cell={cell} />
        </div>
      ))}
    </div>
  );
}
