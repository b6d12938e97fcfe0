import type { Header, Table } from "@tanstack/react-table";
import { useRef, type KeyboardEvent, type PointerEvent, type ReactElement } from "react";

import { useTip } from "../Tip";
import { useWords } from "../words";
import type { features } from "./props";

const SMALL_STEP = 8;

type Resize = (column: string, width: number | null) => void;

interface HeaderRowProps<Row extends object> {
  table: Pick<Table<typeof features, Row>, "getHeaderGroups">;
  onResize: Resize;
}

export function HeaderRow<Row extends object>(props: HeaderRowProps<Row>): ReactElement {
  const headers = props.table.getHeaderGroups()[0]?.headers ?? [];
  return (
    <div role="rowgroup" className="table-head">
      <div role="row" aria-rowindex={1} className="table-row">
        {headers.map((header) => (
          <HeaderCell key={header.id} header={header} onResize={props.onResize} />
        ))}
      </div>
    </div>
  );
}

interface HeaderCellProps<Row extends object> {
  header: Header<typeof features, Row>;
  onResize: Resize;
}

function HeaderCell<Row extends object>({ header, onResize }: HeaderCellProps<Row>): ReactElement {
  const words = useWords();
  const notes = header.column.columnDef.meta;
  const { trigger, tip, close } = useTip(words(notes?.definition.text ?? ""));
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
        {...trigger}
        aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight Shift+Home"
        onClick={() => {
          close();
          header.column.toggleSorting(sorted === false ? notes?.align === "end" : sorted === "asc");
        }}
        onKeyDown={(event) => resizeByKey(event, header.id, onResize)}
      >
        {sorted !== false && (
          <span className="sort-mark" aria-hidden="true">
            {sorted === "asc" ? "▲" : "▼"}
          </span>
        )}
        {words(notes?.definition.title ?? "")}
      </button>
      {tip}
      <ResizeHandle column={header.id} onResize={onResize} />
    </div>
  );
}

/** Shift with an arrow widens or narrows a column, with Home gives it its own width again. */
function resizeByKey(
  event: KeyboardEvent<HTMLElement>,
  column: string,
  onResize: HeaderCellProps<object>["onResize"],
): void {
  const by = { ArrowLeft: -SMALL_STEP, ArrowRight: SMALL_STEP, Home: null }[event.key];
  if (!event.shiftKey || by === undefined) return;
  event.preventDefault();
  const width = event.currentTarget.parentElement?.offsetWidth ?? 0;
  onResize(column, by === null ? null : width + by);
}

interface ResizeHandleProps {
  column: string;
  /** null: its own width again. */
  onResize: (column: string, width: number | null) => void;
}

/** The edge of a column, to be dragged; the keyboard does the same from the column's button. */
function ResizeHandle({ column, onResize }: ResizeHandleProps): ReactElement {
  const grip = useRef<{ x: number; width: number } | null>(null);
  const drop = (): void => {
    grip.current = null;
  };
  return (
    <span
      className="resize"
      aria-hidden="true"
      onPointerDown={(event: PointerEvent<HTMLElement>) => {
        if (event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        const width = event.currentTarget.parentElement?.offsetWidth ?? 0;
        grip.current = { x: event.clientX, width };
      }}
      onPointerMove={(event) => {
        if (grip.current === null) return;
        onResize(column, grip.current.width + event.clientX - grip.current.x);
      }}
      onPointerUp={drop}
      onPointerCancel={drop}
      onDoubleClick={() => onResize(column, null)}
    />
  );
}
