import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { TablePage } from "../../api/schema";
import { Name } from "../../components/Name";
import { type SmallColumn, SmallTable } from "../../components/SmallTable";
import { PlaceLink } from "../../parts/PlaceLink";
import { numberOf, rowsOf, type TableRow } from "../../parts/serverTable/rows";
import { withoutBackticks } from "../../text/definitions";
import { bytes, count, duration, NOTHING } from "../../text/formats";
import { pathText } from "../../text/names";
import type { MemoryPlace } from "./address";
import { MEMORY_CLASSES } from "./curve";
import { CLASS_DEFINITIONS } from "./definitions";
import { PAGE, useBlocks, useChangeMemory } from "./useMemory";

interface BlocksProps {
  target: Target;
  device: string;
  place: MemoryPlace;
}

/** Allocations with their frees, the largest first, page by page from the server. */
export function Blocks({ target, device, place }: BlocksProps): ReactElement {
  const loaded = useBlocks(target, device, place);
  const change = useChangeMemory();
  if (loaded.status === "error")
    return (
      <p className="notice" role="alert">
        {loaded.error.message}
      </p>
    );
  return (
    <>
      <div className="toolbar">
        <label className="picker filter">
          <span className="picker-label">class</span>
          <select
            value={place.kind ?? ""}
            onChange={(event) => {
              change({ kind: event.target.value === "" ? null : event.target.value, offset: 0 });
            }}
          >
            <option value="">any</option>
            {MEMORY_CLASSES.map((kind) => (
              <option key={kind} value={kind}>
                {CLASS_DEFINITIONS[kind].title}
              </option>
            ))}
          </select>
        </label>
        {loaded.value !== null && (
          <Pages
            page={loaded.value}
            onOffset={(offset) => {
              change({ offset });
            }}
          />
        )}
      </div>
      {loaded.value === null ? (
        <p className="notice" role="status">
          Reading the blocks…
        </p>
      ) : (
        <Rows page={loaded.value} />
      )}
    </>
  );
}

function Pages({
  page,
  onOffset,
}: {
  page: TablePage;
  onOffset: (offset: number) => void;
}): ReactElement {
  const last = page.offset + page.rows.length;
  return (
    <>
      <button
        type="button"
        disabled={page.offset === 0}
        onClick={() => {
          onOffset(Math.max(page.offset - PAGE, 0));
        }}
      >
        Previous
      </button>
      <span role="status">
        {page.rows.length === 0 ? "none" : `${count(page.offset + 1)} to ${count(last)}`} of{" "}
        {count(page.total)}
      </span>
      <button
        type="button"
        disabled={page.left_out === 0}
        onClick={() => {
          onOffset(page.offset + PAGE);
        }}
      >
        Next
      </button>
    </>
  );
}

function Rows({ page }: { page: TablePage }): ReactElement {
  const described = new Map(page.columns.map(({ name, description }) => [name, description]));
  const column = (
    name: string,
    title: string,
    cell: SmallColumn<TableRow>[1],
  ): SmallColumn<TableRow> => {
    const text = withoutBackticks(described.get(name) ?? "") || undefined;
    return [{ title, text }, cell];
  };
  return (
    <SmallTable
      className="memory-table memory-blocks"
      rows={rowsOf(page)}
      keyOf={({ id }) => String(id)}
      columns={[
        column("operator", "operator", (row) => (
          <Event name={text(row.operator)} id={numberOf(row, "operator_id")} />
        )),
        column("memory_class", "class", (row) => classTitle(text(row.memory_class))),
        column("bytes", "size", (row) => bytes(numberOf(row, "bytes"))),
        column("lifetime_us", "lifetime", (row) => duration(numberOf(row, "lifetime_us"))),
        column("module", "module", (row) => <Module path={text(row.module)} />),
        column("step", "step", (row) => text(row.step) ?? NOTHING),
        column("freed_by", "freed by", (row) => (
          <Event name={text(row.freed_by)} id={numberOf(row, "freed_by_id")} />
        )),
      ]}
    />
  );
}

function Module({ path }: { path: string | null }): ReactElement {
  return path === null ? <>{NOTHING}</> : <Name text={pathText(path)} className="code" />;
}

/** A row of the trace, which the timeline shows. */
function Event({ name, id }: { name: string | null; id: number | null }): ReactElement {
  if (name === null || id === null) return <>{NOTHING}</>;
  return (
    <PlaceLink to={{ view: "timeline", event: String(id), range: null, search: "", sort: null }}>
      <Name text={name} className="code" />
    </PlaceLink>
  );
}

function classTitle(name: string | null): string {
  const known = MEMORY_CLASSES.find((kind) => kind === name);
  return known === undefined ? (name ?? NOTHING) : CLASS_DEFINITIONS[known].title;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
