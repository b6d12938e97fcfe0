import type { ReportData, Sync } from "../api/schema";
import { isProfiler } from "../text/names";

/** One sync; `id` is its id as an address has it. */
export interface SyncRow {
  readonly id: string;
  /** Since the beginning of the trace, in microseconds. */
  readonly start: number;
  readonly sync: Sync;
}

export interface SyncFilter {
  search: string;
  phase: string | null;
  cause: string | null;
}

export function syncRows(report: ReportData): SyncRow[] {
  return report.syncs.map((sync) => ({
    id: `${sync.id}`,
    start: sync.start_us - report.trace.start_us,
    sync,
  }));
}

export function filterSyncs(rows: readonly SyncRow[], filter: SyncFilter): SyncRow[] {
  const wanted = filter.search.trim().toLowerCase();
  return rows.filter(
    ({ sync }) =>
      (filter.phase === null || sync.phase === filter.phase) &&
      (filter.cause === null || sync.cause === filter.cause) &&
      (wanted === "" || haystack(sync).some((text) => text.toLowerCase().includes(wanted))),
  );
}

/** The values a column takes, most frequent first, with how often. */
export function tally(
  rows: readonly SyncRow[],
  key: "phase" | "cause",
): [value: string, n: number][] {
  return tallyOf(rows.map(({ sync }) => sync[key]));
}

/** Steps in their order, with how many syncs each has; syncs outside of all are left out. */
export function stepTally(rows: readonly SyncRow[]): [step: string, n: number][] {
  const steps = [...rows]
    .sort((a, b) => a.start - b.start)
    .flatMap(({ sync }) => (sync.step === null ? [] : [sync.step]));
  const order = [...new Set(steps)];
  return tallyOf(steps).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
}

/** Values, most frequent first, with how often. */
export function tallyOf(values: Iterable<string>): [value: string, n: number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

function haystack(sync: Sync): string[] {
  const { api, cause, operator, node, module, thread, stack } = sync;
  return [api, cause, operator ?? "", node ?? "", module ?? "", thread, ...stack];
}

export interface SyncSummary {
  blocked: number;
  /** null where no call of these has a known idle time. */
  idle: number | null;
  longest: number;
  backward: number;
}

export function summarizeSyncs(syncs: readonly Sync[]): SyncSummary {
  const sum: SyncSummary = { blocked: 0, idle: null, longest: 0, backward: 0 };
  for (const sync of syncs) {
    sum.blocked += sync.duration_us;
    sum.longest = Math.max(sum.longest, sync.duration_us);
    if (sync.device_idle_us !== null) sum.idle = (sum.idle ?? 0) + sync.device_idle_us;
    if (sync.phase === "backward") sum.backward += 1;
  }
  return sum;
}

/** A host sync that costs this share of the step is where someone should look; below, it stays quiet. */
export const HIGHLIGHT_THRESHOLD = 0.01;

/** The syncs that somebody could do without. */
export function avoidable<T extends { cause: string }>(syncs: readonly T[]): T[] {
  return syncs.filter((sync) => !isProfiler(sync.cause));
}

/** Whether a sync is highlighted, given the length of what it is measured against. */
export function isHighlighted(blockedUs: number | null, wholeUs: number): boolean {
  return (
    blockedUs !== null && blockedUs > 0 && wholeUs > 0 && blockedUs >= HIGHLIGHT_THRESHOLD * wholeUs
  );
}

/**
 * What waits cost: the device's idle time where that is known, since a host that waits for a device
 * at work loses nothing; else the host's self time.
 */
export function lostIn(blockedUs: number | null, idleUs: number | null): number | null {
  return blockedUs === null || idleUs === null ? blockedUs : Math.min(blockedUs, idleUs);
}

/** Host time in syncs; null where it is unknown, or 0 for want of a device to wait for. */
export function knownBlocked(report: ReportData, us: number | null): number | null {
  const { totals, trace } = report;
  if (totals.sync_count === null) return null;
  return us === 0 && trace.devices.length === 0 ? null : us;
}

/** Syncs of the measured steps, without the profiler's own: how many, and blocked for how long. */
export function syncsPerStep(
  report: ReportData,
  syncs: readonly Sync[],
): { count: number; blocked: number } {
  const counting = new Set(report.steps.filter((step) => step.counts).map(({ id }) => id));
  const mine = avoidable(syncs).filter(({ step_id: step }) => step !== null && counting.has(step));
  const by = Math.max(1, counting.size);
  return { count: mine.length / by, blocked: summarizeSyncs(mine).blocked / by };
}
