import { inTimeline, syncInTimeline } from "../../address/links";
import { START, type Place } from "../../address/place";
import type { CompareSide } from "../../api/client";
import type { ReportData, Site, Sync } from "../../api/schema";
import { averagedSteps } from "../../report/measures";
import type { CompareTable } from "./address";
import type { AlignedStep } from "./aligned";
import type { CompareRow, RowPlace } from "./rows";

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
export interface SiteSyncs {
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
