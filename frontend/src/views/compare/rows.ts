import { inTimeline, syncInTimeline } from "../../address/links";
import { type Place, START } from "../../address/place";
import type { ChangeStatus, CompareSide } from "../../api/client";
import type {
  Comparison,
  FindingChange,
  KernelChange,
  ModuleChange,
  Pair,
  ReportData,
  Site,
  Sync,
  SyncChange,
} from "../../api/schema";
import { averagedSteps } from "../../report/measures";
import { lostIn } from "../../report/syncs";
import { classUnlessSame, kindText, pathText } from "../../text/names";
import { compareNumbers, type Sort } from "../../text/numbers";
import { COMPARE_TABLES, type CompareTable, type Status } from "./address";
import type { AlignedStep } from "./aligned";

/** One row of any of the four tables; microseconds per step. */
export interface CompareRow {
  /** What names it in an address. */
  readonly id: string;
  readonly name: string;
  /** Class, call site, kind of work, or place. */
  readonly note: string;
  readonly status: ChangeStatus;
  readonly before: number | null;
  readonly after: number | null;
  readonly change: number | null;
  /** What takes its time once, on either side; null where it recurs. No number of that side is per step. */
  readonly once: Once | null;
  /** How much more time its syncs lose; null where it has none to lose. */
  readonly lost: number | null;
  /** Changes of further numbers, by column. */
  readonly extras: Readonly<Partial<Record<ExtraKey, number | null>>>;
  readonly base: RowPlace | null;
  readonly other: RowPlace | null;
}

type Once = Pick<Pair, "base" | "other">;

export type ExtraKey = "backward" | "forward" | "blocked" | "syncs" | "count" | "idle" | "gain";

/** Where a row is on one side. */
export interface RowPlace {
  readonly text: string;
  /** Path of its module; null for none. */
  readonly module: string | null;
  /** The call site; null where the row is no call site. */
  readonly site: Site | null;
}

export const EFFECT_FIRST: Sort = { key: "effect", descending: true };

export function compareRows(comparison: Comparison, table: CompareTable): CompareRow[] {
  switch (table) {
    case "modules":
      return comparison.modules.map(moduleRow);
    case "syncs":
      return comparison.sync_sites.map(syncRow);
    case "kernels":
      return comparison.kernels.map(kernelRow);
    case "findings":
      return comparison.findings.map(findingRow);
  }
}

/** The table to show first: the one with the largest effect, else the first with any row. */
export function firstTable(comparison: Comparison): CompareTable {
  const tables = COMPARE_TABLES.map((table) => {
    const rows = compareRows(comparison, table);
    const differing = rows.filter(({ status }) => status !== "same");
    const effect = differing.reduce((most, row) => Math.max(most, effectOf(row)), -1);
    return { table, effect, holds: rows.length > 0 };
  });
  const [first] = tables.filter(({ effect }) => effect >= 0).sort((a, b) => b.effect - a.effect);
  return (first ?? tables.find(({ holds }) => holds))?.table ?? "modules";
}

function moduleRow(module: ModuleChange): CompareRow {
  const place = (path: string | null): RowPlace | null =>
    path === null ? null : { text: pathText(path), module: path, site: null };
  return {
    id: module.id,
    name: pathText(module.path),
    note: classUnlessSame(module),
    status: module.status,
    ...sumOf(module.forward_us, module.backward_us),
    once: null,
    lost: lostIn(module.sync_blocked_us.change, module.sync_idle_us.change),
    extras: {
      backward: module.backward_us.change,
      forward: module.forward_us.change,
      blocked: module.sync_blocked_us.change,
      syncs: module.syncs.change,
    },
    base: place(module.base_path),
    other: place(module.other_path),
  };
}

function syncRow(sync: SyncChange): CompareRow {
  const base = sitePlace(sync.base_site);
  const other = sitePlace(sync.other_site);
  return {
    id: sync.id,
    name: sync.cause,
    note: other?.text ?? base?.text ?? "",
    status: sync.status,
    ...numbersOf(sync.blocked_us),
    once: null,
    lost: lostIn(sync.blocked_us.change, sync.device_idle_us.change),
    extras: { count: sync.count.change, idle: sync.device_idle_us.change },
    base,
    other,
  };
}

function kernelRow(kernel: KernelChange): CompareRow {
  const place = { text: kernel.name, module: null, site: null };
  return {
    id: kernel.id,
    name: kernel.name,
    note: kindText(kernel.kind),
    status: kernel.status,
    ...numbersOf(kernel.total_us),
    once: null,
    lost: null,
    extras: { count: kernel.count.change },
    base: kernel.total_us.base === null ? null : place,
    other: kernel.total_us.other === null ? null : place,
  };
}

function findingRow(finding: FindingChange): CompareRow {
  const place = (where: string | null, module: string | null): RowPlace | null =>
    where === null ? null : { text: where, module, site: null };
  return {
    id: finding.id,
    name: finding.title,
    note: finding.other_where ?? finding.base_where ?? "",
    status: finding.status,
    ...costOf(finding),
    lost: null,
    extras: { gain: finding.gain_us.change },
    base: place(finding.base_where, finding.base_module),
    other: place(finding.other_where, finding.other_module),
  };
}

/** "head · aten::item · train.py(10): loop", from the module inwards. */
function sitePlace(site: Site | null): RowPlace | null {
  if (site === null) return null;
  const parts = [
    site.module === null ? null : pathText(site.module),
    site.node,
    site.operator,
    site.frame,
  ].filter((part) => part !== null);
  const text = parts.length === 0 ? "not in a module and operator" : parts.join(" · ");
  return { text, module: site.module, site };
}

type Numbers = Pick<CompareRow, "before" | "after" | "change">;

function numbersOf({ base, other, change }: Pair): Numbers {
  return { before: base, after: other, change };
}

/** The cost of a finding per step; that of what happens once is in no step, and no change of one. */
function costOf({
  cost_us: cost,
  once_us: once,
}: FindingChange): Numbers & Pick<CompareRow, "once"> {
  if (once.base === null && once.other === null) return { ...numbersOf(cost), once: null };
  const recurs = (us: number | null, spent: number | null): number | null =>
    spent === null ? us : null;
  return {
    before: recurs(cost.base, once.base),
    after: recurs(cost.other, once.other),
    change: null,
    once,
  };
}

/** Two numbers of a row together; one that neither side holds adds nothing. */
function sumOf(a: Pair, b: Pair): Numbers {
  const add = (x: number | null, y: number | null): number | null =>
    x === null && y === null ? null : (x ?? 0) + (y ?? 0);
  return {
    before: add(a.base, b.base),
    after: add(a.other, b.other),
    change: add(a.change, b.change),
  };
}

interface CompareFilter {
  search: string;
  /** null: all that differs. */
  status: Status | "all" | null;
}

export function filterRows(rows: readonly CompareRow[], filter: CompareFilter): CompareRow[] {
  const wanted = filter.search.trim().toLowerCase();
  return rows.filter(
    (row) =>
      statusFits(row.status, filter.status) &&
      (wanted === "" ||
        [row.name, row.note, row.base?.text ?? "", row.other?.text ?? ""].some((text) =>
          text.toLowerCase().includes(wanted),
        )),
  );
}

function statusFits(status: ChangeStatus, wanted: CompareFilter["status"]): boolean {
  if (wanted === null) return status !== "same";
  return wanted === "all" || status === wanted;
}

/** How often each status is there. */
export function tallyStatus(rows: readonly CompareRow[]): Map<ChangeStatus, number> {
  const counts = new Map<ChangeStatus, number>();
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

export function sortRows(rows: readonly CompareRow[], sort: Sort): CompareRow[] {
  const sign = sort.descending ? -1 : 1;
  const collator = new Intl.Collator("en", { numeric: true });
  const texts = { name: "name", note: "note", status: "status" } as const;
  const text = Object.values(texts).find((key) => key === sort.key);
  return [...rows].sort(
    (a, b) =>
      (text === undefined
        ? compareNumbers(numberOf(a, sort.key), numberOf(b, sort.key), sign)
        : sign * collator.compare(a[text], b[text])) || effectOf(b) - effectOf(a),
  );
}

/** The size of what changed; a row's syncs count where its time did not change. */
function effectOf(row: CompareRow): number {
  return Math.abs(row.change ?? 0) || Math.abs(row.extras.blocked ?? 0);
}

function numberOf(row: CompareRow, key: string): number | null {
  if (key === "effect") return effectOf(row);
  if (key === "before" || key === "after" || key === "change") return row[key];
  return row.extras[key as ExtraKey] ?? null;
}

/** The row in the view of its own side. */
export function rowPlace(
  table: CompareTable,
  side: CompareSide,
  place: RowPlace,
  row: CompareRow,
): Partial<Place> {
  const { run, worker, trace, steps } = side;
  const step = steps.length === 1 ? (steps[0] ?? null) : null;
  const at = { ...START, run, worker, trace, step };
  if (table === "modules") return { ...at, view: "modules", module: place.module };
  if (table === "syncs") return { ...at, view: "syncs", cause: row.name };
  if (table === "findings") return { ...at, view: "findings", search: row.name };
  return { ...at, view: "timeline", search: row.name };
}

/** How often a call site syncs in the steps of a side, and its longest sync. */
interface SiteSyncs {
  readonly count: number;
  readonly longest: Sync;
}

/** The syncs of a call site in these steps (none named: in those that count); null without one. */
export function syncsAt(
  report: Pick<ReportData, "steps" | "syncs">,
  cause: string,
  site: Site,
  steps: readonly string[],
): SiteSyncs | null {
  const names = steps.length > 0 ? steps : averagedSteps(report.steps).map(({ name }) => name);
  const syncs = report.syncs.filter(
    (sync) =>
      sync.cause === cause &&
      sync.module_id === site.module_id &&
      sync.node === site.node &&
      sync.operator === site.operator &&
      (site.frame === null ? sync.stack.length === 0 : sync.stack.includes(site.frame)) &&
      sync.step !== null &&
      names.includes(sync.step),
  );
  const [first, ...rest] = syncs;
  if (first === undefined) return null;
  const longest = rest.reduce((a, b) => (b.duration_us > a.duration_us ? b : a), first);
  return { count: syncs.length, longest };
}

/** Where the timeline of a side's own trace shows a step. */
export function stepPlace(
  report: Pick<ReportData, "trace">,
  { run, worker, trace }: CompareSide,
  step: AlignedStep,
): Partial<Place> {
  const start = step.from + report.trace.start_us;
  return { ...START, run, worker, trace, ...inTimeline(report, start, step.length) };
}

/** Where the timeline of a side's own trace shows a sync. */
export function syncPlace(
  report: Pick<ReportData, "trace">,
  side: CompareSide,
  sync: Sync,
): Partial<Place> {
  const { run, worker, trace } = side;
  return { ...START, run, worker, trace, ...syncInTimeline(report, sync) };
}
