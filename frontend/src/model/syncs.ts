import type { WireReport, WireSync } from "../api/types";
import { duration } from "./formats";
import { pathText } from "./moduleTree";
import { compareNumbers, type Sort } from "./treeRows";

/** One host-blocking call; `id` names it in the URL and outlives sorting and filtering. */
export interface SyncRow {
  readonly id: string;
  /** Since the beginning of the trace, in microseconds. */
  readonly start: number;
  readonly sync: WireSync;
}

export interface SyncFilter {
  search: string;
  phase: string | null;
  cause: string | null;
}

type TextKey = "api" | "cause" | "step" | "phase" | "module" | "node" | "operator" | "thread";
export type SyncSortKey = TextKey | "start" | "blocked" | "idle";

export function syncRows(report: WireReport): SyncRow[] {
  const seen = new Map<number, number>();
  return report.syncs.map((sync) => {
    const twin = seen.get(sync.start_us) ?? 0;
    seen.set(sync.start_us, twin + 1);
    return {
      id: twin === 0 ? `${sync.start_us}` : `${sync.start_us}.${twin}`,
      start: sync.start_us - report.trace.start_us,
      sync,
    };
  });
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

export function sortSyncs(rows: readonly SyncRow[], sort: Sort): SyncRow[] {
  const sign = sort.descending ? -1 : 1;
  const collator = new Intl.Collator("en", { numeric: true });
  const key = sort.key as SyncSortKey;
  const compare = (a: SyncRow, b: SyncRow): number => {
    if (key === "start" || key === "blocked" || key === "idle") {
      return compareNumbers(numberOf(a, key), numberOf(b, key), sign);
    }
    return compareTexts(a.sync[key], b.sync[key], sign, collator);
  };
  return [...rows].sort((a, b) => compare(a, b) || a.start - b.start);
}

/** The values a column takes, most frequent first, with how often. */
export function tally(
  rows: readonly SyncRow[],
  key: "phase" | "cause",
): [value: string, n: number][] {
  const counts = new Map<string, number>();
  for (const { sync } of rows) counts.set(sync[key], (counts.get(sync[key]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

export interface ChainLink {
  kind: "call" | "operator" | "node" | "module" | "frame";
  text: string;
}

/** From the call outwards: operator, autograd node, module, Python frames. */
export function chainOf(sync: WireSync, classOf: (path: string) => string | null): ChainLink[] {
  const links: ChainLink[] = [{ kind: "call", text: sync.api }];
  if (sync.operator !== null) links.push({ kind: "operator", text: sync.operator });
  if (sync.node !== null) links.push({ kind: "node", text: sync.node });
  if (sync.module !== null) links.push({ kind: "module", text: moduleText(sync.module, classOf) });
  return [...links, ...sync.stack.map((text): ChainLink => ({ kind: "frame", text }))];
}

/** The chain as indented lines for pasting elsewhere. */
export function chainText(sync: WireSync, classOf: (path: string) => string | null): string {
  return chainOf(sync, classOf)
    .map((link, depth) =>
      depth === 0
        ? `${link.text}  ${duration(sync.duration_us)}`
        : `${"  ".repeat(depth - 1)}└ ${link.text}`,
    )
    .join("\n");
}

function moduleText(path: string, classOf: (path: string) => string | null): string {
  const className = classOf(path);
  return className === null ? pathText(path) : `${pathText(path)} (${className})`;
}

function numberOf(row: SyncRow, key: "start" | "blocked" | "idle"): number | null {
  if (key === "start") return row.start;
  return key === "blocked" ? row.sync.duration_us : row.sync.device_idle_us;
}

function compareTexts(
  a: string | null,
  b: string | null,
  sign: number,
  collator: Intl.Collator,
): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * collator.compare(a, b);
}

function haystack(sync: WireSync): string[] {
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

export function summarizeSyncs(syncs: readonly WireSync[]): SyncSummary {
  const sum: SyncSummary = { blocked: 0, idle: null, longest: 0, backward: 0 };
  for (const sync of syncs) {
    sum.blocked += sync.duration_us;
    sum.longest = Math.max(sum.longest, sync.duration_us);
    if (sync.device_idle_us !== null) sum.idle = (sum.idle ?? 0) + sync.device_idle_us;
    if (sync.phase === "backward") sum.backward += 1;
  }
  return sum;
}
