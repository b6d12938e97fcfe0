import {
  FlexRender,
  type Row as ModelRow,
  type SortingState,
  type Updater,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactElement, type ReactNode, useId, useState } from "react";

import { counted, count as numbered } from "../../text/formats";
import type { Sort } from "../../text/numbers";
import { copyText } from "../browser";
import { HeaderRow } from "./HeaderRow";
import { keyTarget, useCursor } from "./keys";
import { type Column, type DataTableProps, features } from "./props";
import { tableCsv, tableMarkdown, type TextColumn } from "./tableText";
import { tableStyle, useFitted, useWidths } from "./widths";

const ROW_HEIGHT = 28;
const HEAD_HEIGHT = 36;
// Rows drawn beyond the edges, so that a fast wheel never outruns the drawing.
const OVERSCAN = 24;

/** A table or tree table that draws only the rows in sight. */
export function DataTable<Row extends object>(props: DataTableProps<Row>): ReactElement {
  const { rows, rowId, sort, onSort, branch } = props;
  const [scroller, { shown: columns, hidden }] = useFitted(props.columns, sort.key);
  const domId = useId();
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: rowId,
    manualSorting: true,
    state: { sorting: [{ id: sort.key, desc: sort.descending }] },
    onSortingChange: (updater) => {
      const next = firstOf(updater, sort);
      if (next !== null) onSort(next);
    },
  });
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: HEAD_HEIGHT,
    scrollPaddingStart: HEAD_HEIGHT,
    scrollPaddingEnd: props.footer === undefined ? 0 : ROW_HEIGHT,
  });
  const [widths, setWidth] = useWidths(props.label);
  const modelRows = table.getRowModel().rows;
  const { cursor, setCursor } = useCursor(props, virtualizer.scrollToIndex);
  const cursorId = rows[cursor] === undefined ? undefined : `${domId}${rowId(rows[cursor])}`;
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  return (
    <div className="table-box">
      <div
        ref={scroller}
        className="table"
        role={branch === undefined ? "grid" : "treegrid"}
        aria-label={props.label}
        aria-rowcount={rows.length + 1 + (props.footer === undefined ? 0 : 1)}
        aria-colcount={columns.length}
        aria-activedescendant={cursor <= last ? cursorId : undefined}
        tabIndex={0}
        style={tableStyle(columns, widths)}
        onKeyDown={(event) => {
          if (keyTarget(event, props, cursor, setCursor)) event.preventDefault();
        }}
      >
        <HeaderRow table={table} onResize={setWidth} />
        <div role="rowgroup" className="table-body" style={{ height: virtualizer.getTotalSize() }}>
          {items.map((item) => {
            const row = modelRows[item.index];
            const top = item.start - HEAD_HEIGHT;
            const place = { domId, index: item.index, top, atCursor: item.index === cursor };
            return row === undefined ? null : (
              <BodyRow key={row.id} {...place} row={row} table={props} />
            );
          })}
        </div>
        {rows.length === 0 && <p className="table-empty">{props.empty}</p>}
        {props.footer?.(columns)}
      </div>
      <TableBar
        count={rows.length}
        total={props.total ?? rows.length}
        hidden={hidden.map(({ meta }) => meta?.definition.title ?? "")}
        content={() => contentOf(props)}
      />
    </div>
  );
}

/** All rows and columns as values, whether they are in sight or not. */
function contentOf<Row extends object>(props: DataTableProps<Row>): TableContent {
  const { columns, rows, copied } = props;
  const [first, ...rest] = columns.map(({ meta }) => meta?.definition ?? { title: "" });
  const values = (column: Column<Row>): unknown[] =>
    rows.map((row, index) => ("accessorFn" in column ? column.accessorFn(row, index) : null));
  const [names = [], ...numbers] = columns.map(values);
  const more = copied === undefined ? [] : [rows.map(copied.value)];
  const titles = copied === undefined ? [] : [copied.definition];
  return {
    columns: first === undefined ? [] : [first, ...titles, ...rest],
    rows: names.map((_, at) => [names, ...more, ...numbers].map((column) => column[at])),
  };
}

function firstOf(updater: Updater<SortingState>, sort: Sort): Sort | null {
  const next =
    typeof updater === "function" ? updater([{ id: sort.key, desc: sort.descending }]) : updater;
  const first = next[0];
  return first === undefined ? null : { key: first.id, descending: first.desc };
}

interface BodyRowProps<Row extends object> {
  row: ModelRow<typeof features, Row>;
  table: DataTableProps<Row>;
  /** What the ids of this table's rows begin with. */
  domId: string;
  index: number;
  top: number;
  atCursor: boolean;
}

function BodyRow<Row extends object>(props: BodyRowProps<Row>): ReactElement {
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
      onClick={() => table.onSelect(row.id)}
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

interface TableContent {
  columns: TextColumn[];
  rows: unknown[][];
}

interface TableBarProps {
  /** Rows of the table at hand, and of all of its pages. */
  count: number;
  total: number;
  /** Titles of columns that there is no room for. */
  hidden: string[];
  /** What is shown, as values; asked for when somebody copies it. */
  content: () => TableContent;
}

const FORMATS = [
  { name: "CSV", write: tableCsv },
  { name: "Markdown", write: tableMarkdown },
] as const;

/** Below a table: how many rows it has, and buttons that copy them. */
function TableBar({ count, total, hidden, content }: TableBarProps): ReactElement {
  const [said, setSaid] = useState("");
  const copy = async ({ name, write }: (typeof FORMATS)[number]): Promise<void> => {
    const { columns, rows } = content();
    const copied = await copyText(write(columns, rows));
    setSaid(copied ? `Copied as ${name}` : "The browser does not allow copying from this address");
  };
  return (
    <div className="table-bar">
      <span className="muted" title={hidden.join(", ")}>
        {total > count && `${numbered(count)} of `}
        {counted(total, "row")}
        {hidden.length > 0 && ` · no room for: ${hidden.join(", ")} (still copied)`}
      </span>
      <span className="spring" />
      <span className="muted" role="status">
        {said}
      </span>
      {FORMATS.map((format) => (
        <button
          key={format.name}
          type="button"
          className="quiet"
          disabled={count === 0}
          onClick={() => void copy(format)}
          onBlur={() => setSaid("")}
        >
          Copy {format.name}
        </button>
      ))}
    </div>
  );
}

const INDENT = 16;

interface TreeCellProps {
  /** Rows above it in the tree. */
  depth: number;
  /** null: nothing below. */
  open: boolean | null;
  onFold: (open: boolean) => void;
  className?: string;
  children: ReactNode;
}

/** Fold mark and name. The keyboard folds with the arrows, so the mark is no stop. */
export function TreeCell(props: TreeCellProps): ReactElement {
  const { depth, open, onFold, className = "", children } = props;
  return (
    <span
      className={`tree-cell ${className}`.trimEnd()}
      style={{ paddingInlineStart: depth * INDENT }}
    >
      <span
        className={open === null ? "fold none" : "fold"}
        aria-hidden="true"
        onClick={(event) => {
          if (open === null) return;
          event.stopPropagation();
          onFold(!open);
        }}
      >
        {open === null ? "" : open ? "▼" : "▶"}
      </span>
      {children}
    </span>
  );
}
