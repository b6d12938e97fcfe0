import type { ReactElement, ReactNode } from "react";

import { Name } from "../../components/Name";
import type { Column, ColumnNotes } from "../../components/table/props";
import { isHighlighted } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { durationScale, type DurationScale } from "../../text/formats";
import type { CompareTable } from "./address";
import { changeText, countChange, sideText } from "./changes";
import { COMPARE_DEFINITIONS as D } from "./definitions";
import type { CompareRow, ExtraKey } from "./rows";

const NAMES = {
  modules: "module",
  syncs: "sync",
  kernels: "kernel",
  findings: "finding",
} as const;

const EXTRAS: Readonly<Record<CompareTable, readonly ExtraKey[]>> = {
  modules: ["backward", "forward", "blocked", "syncs"],
  syncs: ["idle", "count"],
  kernels: ["count"],
  findings: ["gain"],
};

/** Columns of host waits, and of what they cause. */
const SYNC_COLUMNS: ReadonlySet<ExtraKey> = new Set(["blocked", "idle"]);

interface Settings {
  table: CompareTable;
  rows: readonly CompareRow[];
  /** Length of the longer side's step: what a change is held against. */
  step: number;
  search: string;
}

/** Columns of one of the four tables. */
export function compareColumns(settings: Settings): Column<CompareRow>[] {
  const { table, rows, step, search } = settings;
  const largest = (of: (row: CompareRow) => number | null | undefined): number =>
    rows.reduce((most, row) => Math.max(most, Math.abs(of(row) ?? 0)), 0);
  const scale = durationScale(
    Math.max(
      largest((row) => row.before),
      largest((row) => row.after),
    ),
  );
  const most = largest((row) => row.change);
  const looks = ({ lost }: CompareRow): boolean => table === "syncs" && isHighlighted(lost, step);
  const code = table !== "findings";
  const width = table === "findings" ? 116 : 92;
  return [
    column("name", { definition: D[NAMES[table]], width: 0, align: "start" }, (row) => (
      <>
        <Name
          kernel={table === "kernels"}
          text={row.name}
          className={code ? "code" : ""}
          mark={search}
        />
        <span className="compare-note">
          <Name text={row.note} className="muted" mark={search} />
        </span>
      </>
    )),
    column("status", { definition: D.status, width: 104, align: "start", yields: 2 }, (row) => (
      <span className={`status ${row.status}`}>{row.status}</span>
    )),
    column("before", { definition: D.before, width, align: "end", yields: 3 }, (row) =>
      sideText(row.before, row.once?.base, scale),
    ),
    column("after", { definition: D.after, width, align: "end", yields: 4 }, (row) =>
      sideText(row.after, row.once?.other, scale),
    ),
    column("change", { definition: D.change, width: 100, align: "end" }, (row) =>
      changed(row.change, scale, looks(row)),
    ),
    {
      id: "effect",
      accessorFn: (row) => (row.change === null ? null : Math.abs(row.change)),
      meta: { definition: D.effect, width: 130, align: "start", yields: 1 },
      cell: ({ row: { original } }) => (
        <ChangeBar change={original.change} most={most} look={looks(original)} />
      ),
    },
    ...EXTRAS[table].map((key) => extra(key, D[key], settings)),
  ];
}

function extra(
  key: ExtraKey,
  definition: Definition,
  { rows, step }: Settings,
): Column<CompareRow> {
  // What is least of a row's effect gives way first where there is no room for all: the last first.
  const notes = { definition, align: "end", yields: -EXTRA_KEYS.indexOf(key) } as const;
  if (key === "count" || key === "syncs") {
    return column(key, { ...notes, width: 66 }, (row) => countChange(row.extras[key] ?? null));
  }
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(row.extras[key] ?? 0)), 0);
  const scale = durationScale(largest);
  return column(key, { ...notes, width: 100 }, (row) => {
    const look = SYNC_COLUMNS.has(key) && isHighlighted(row.lost, step);
    return changed(row.extras[key] ?? null, scale, look);
  });
}

function changed(us: number | null, scale: DurationScale, look: boolean): ReactNode {
  const text = changeText(us, scale);
  return look ? <strong className="look">{text}</strong> : text;
}

const EXTRA_KEYS = Object.values(EXTRAS).flat();

type OwnKey = "name" | "status" | "before" | "after" | "change";

function column(
  id: OwnKey | ExtraKey,
  notes: ColumnNotes,
  render: (row: CompareRow) => ReactNode,
): Column<CompareRow> {
  return {
    id,
    accessorFn: (row) => (isExtra(id) ? (row.extras[id] ?? null) : row[id]),
    meta: notes,
    cell: ({ row }) => render(row.original),
  };
}

function isExtra(id: OwnKey | ExtraKey): id is ExtraKey {
  return EXTRA_KEYS.includes(id as ExtraKey);
}

interface ChangeBarProps {
  change: number | null;
  /** The largest change of the table. */
  most: number;
  /** More of it is where someone should look. */
  look: boolean;
}

/** Less time to the left of the middle, more of it to the right; the number next to it says the same. */
function ChangeBar({ change, most, look }: ChangeBarProps): ReactElement {
  const size = most > 0 ? Math.abs(change ?? 0) / most : 0;
  const worse = (change ?? 0) > 0;
  return (
    <svg className="change-bar" width="100%" height={10} aria-hidden="true">
      <rect
        className={worse ? (look ? "more look" : "more") : "less"}
        x={`${worse ? 50 : 50 - size * 50}%`}
        width={`${size * 50}%`}
        height={10}
      />
      <line x1="50%" x2="50%" y1={0} y2={10} />
    </svg>
  );
}
