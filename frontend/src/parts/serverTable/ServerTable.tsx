import { type ReactElement, useMemo } from "react";

import type { TablePage } from "../../api/schema";
import { Name } from "../../components/Name";
import { DataTable } from "../../components/table/DataTable";
import type { Column } from "../../components/table/props";
import type { Definition } from "../../text/definitions";
import { count, type DurationScale, NOTHING, scaledDuration, written } from "../../text/formats";
import { differences } from "../../text/kernelName";
import type { Sort } from "../../text/numbers";
import type { Loaded } from "../services";
import { ErrorCard } from "../states";
import { largest, numberOf, PAGE_ROWS, rowsOf, scalesOf, type TableRow, textOf } from "./rows";

/** A column of the server's table. */
export interface ServerColumn {
  /** Whether a row deserves a look because of what it is. */
  look?: (row: TableRow) => boolean;
  id: string;
  definition: Definition;
  /** 0 takes what is left. */
  width: number;
  /** How a text is written; as it is without. */
  write?: (text: string) => string;
  /** Whether it names kernels, which are shown in short. */
  kernel?: true;
  /** How durations are written; as the largest on show asks for without. */
  scale?: DurationScale;
  /** Columns that make up this one, as a bar of parts next to the number. */
  parts?: readonly { id: string; colour: string }[];
  /** Goes where there is no room, the least first. */
  yields?: number;
}

interface ServerTableProps {
  label: string;
  columns: readonly ServerColumn[];
  loaded: Loaded<TablePage>;
  sort: Sort;
  onSort: (sort: Sort) => void;
  page: number;
  onPage: (page: number) => void;
  selected: number | null;
  onSelect: (id: number | null) => void;
  search: string;
  empty: string;
}

/** A page of a table that the server filters, sorts and cuts. */
export function ServerTable(props: ServerTableProps): ReactElement {
  const { loaded, search, selected, onSelect } = props;
  const rows = useMemo(() => rowsOf(loaded.value), [loaded.value]);
  const columns = useMemo(() => {
    const scales = scalesOf(props.columns, rows);
    return props.columns.map((column) => {
      const apart = column.kernel && differences(rows.map((row) => textOf(row, column.id)));
      const most = largest(rows, column.id);
      return modelColumn({ column, search, apart, scale: scales.get(column.id) }, most);
    });
  }, [props.columns, rows, search]);
  if (loaded.status === "error") return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  return (
    <>
      <DataTable
        label={props.label}
        columns={columns}
        rows={rows}
        total={loaded.value?.total ?? 0}
        rowId={(row) => String(row.id)}
        sort={props.sort}
        onSort={props.onSort}
        selected={selected === null ? null : String(selected)}
        onSelect={(id) => onSelect(Number(id) === selected ? null : Number(id))}
        empty={loaded.status === "loading" ? "Loading…" : props.empty}
      />
      <Pager total={loaded.value?.total ?? 0} page={props.page} onPage={props.onPage} />
    </>
  );
}

interface PagerProps {
  total: number;
  page: number;
  onPage: (page: number) => void;
}

function Pager({ total, page, onPage }: PagerProps): ReactElement | null {
  const last = Math.max(Math.ceil(total / PAGE_ROWS) - 1, 0);
  if (last === 0) return null;
  const to = (label: string, target: number): ReactElement => (
    <button
      type="button"
      disabled={target < 0 || target > last || target === page}
      onClick={() => onPage(target)}
    >
      {label}
    </button>
  );
  return (
    <nav className="toolbar" aria-label="Pages of the table">
      {to("First", 0)}
      {to("Previous", page - 1)}
      <span role="status">
        {count(page * PAGE_ROWS + 1)}–{count(Math.min((page + 1) * PAGE_ROWS, total))} of{" "}
        {count(total)}
      </span>
      {to("Next", page + 1)}
      {to("Last", last)}
    </nav>
  );
}

function modelColumn(cell: Omit<ValueProps, "row">, most: number): Column<TableRow> {
  const { column } = cell;
  const { id, definition, width, yields } = column;
  const meta = {
    definition,
    width,
    align: definition.unit === undefined ? "start" : "end",
  } as const;
  return {
    id,
    accessorFn: (row) => row[id] ?? null,
    meta: yields === undefined ? meta : { ...meta, yields },
    cell: ({ row: { original: row } }) => (
      <>
        {column.parts !== undefined && <Parts row={row} parts={column.parts} most={most} />}
        {column.look?.(row) === true ? (
          <strong className="cell-look">
            <Value row={row} {...cell} />
          </strong>
        ) : (
          <Value row={row} {...cell} />
        )}
      </>
    ),
  };
}

interface PartsProps {
  row: TableRow;
  parts: NonNullable<ServerColumn["parts"]>;
  /** What fills the whole width. */
  most: number;
}

function Parts({ row, parts, most }: PartsProps): ReactElement {
  return (
    <span className="cell-parts" aria-hidden="true">
      {parts.map(({ id, colour }) => (
        <span
          key={id}
          style={{
            background: colour,
            width: `${most > 0 ? (100 * (numberOf(row, id) ?? 0)) / most : 0}%`,
          }}
        />
      ))}
    </span>
  );
}

interface ValueProps {
  row: TableRow;
  column: ServerColumn;
  search: string;
  scale: DurationScale | undefined;
  /** What tells kernels apart that are alike in short. */
  apart: ReadonlyMap<string, string> | undefined;
}

function Value({
  row,
  column: { id, definition, write, kernel },
  search,
  scale,
  apart,
}: ValueProps): ReactElement | string {
  const value = row[id] ?? null;
  if (value === null || value === "") return NOTHING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (scale !== undefined) return scaledDuration(numberOf(row, id), scale);
  if (definition.unit !== undefined) return written(numberOf(row, id), definition.unit);
  const text = textOf(row, id);
  const name = (
    <Name text={write?.(text) ?? text} kernel={kernel} mark={id === "name" ? search : ""} />
  );
  const differing = apart?.get(text);
  if (differing === undefined) return name;
  return (
    <span className="tree-cell kernel-cell">
      {name}
      <Name text={differing} className="muted" />
    </span>
  );
}
