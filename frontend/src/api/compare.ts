import { getJson, withTarget, type Target } from "./request";

/** What changed between two traces, as the server sends it: means per step, microseconds. */

export type WireStatus = "appeared" | "vanished" | "moved" | "changed" | "same" | "unlisted";

/** One number on both sides; null where a side does not hold it. */
export interface WirePair {
  base: number | null;
  other: number | null;
  change: number | null;
}

export interface WireModuleChange {
  path: string;
  class: string;
  status: WireStatus;
  forward_us: WirePair;
  backward_us: WirePair;
  syncs: WirePair;
  sync_blocked_us: WirePair;
  base_path: string | null;
  other_path: string | null;
}

export interface WireSite {
  module: string | null;
  node: string | null;
  operator: string | null;
  frame: string | null;
}

export interface WireSyncChange {
  cause: string;
  status: WireStatus;
  base_site: WireSite | null;
  other_site: WireSite | null;
  count: WirePair;
  blocked_us: WirePair;
  device_idle_us: WirePair;
}

export interface WireKernelChange {
  name: string;
  kind: string;
  event: string;
  status: WireStatus;
  count: WirePair;
  total_us: WirePair;
}

export interface WireFindingChange {
  rule: string;
  title: string;
  fix: string;
  status: WireStatus;
  base_where: string | null;
  other_where: string | null;
  base_module: string | null;
  other_module: string | null;
  cost_us: WirePair;
  gain_us: WirePair;
}

export interface WireSide {
  path: string;
  steps: number;
  step_names: string[];
}

export interface WireComparison {
  schema: number;
  measure: string;
  base: WireSide;
  other: WireSide;
  step_us: WirePair;
  forward_us: WirePair;
  backward_us: WirePair;
  backward_unattributed_us: WirePair;
  syncs: WirePair;
  sync_blocked_us: WirePair;
  modules: WireModuleChange[];
  speedup: number | null;
  phases_us: Record<string, WirePair>;
  device_busy_us: WirePair;
  device_idle_us: WirePair;
  idle_us: Record<string, WirePair>;
  device_us_by_kind: Record<string, WirePair>;
  sync_sites: WireSyncChange[];
  kernels: WireKernelChange[];
  kernels_omitted_us: WirePair;
  findings: WireFindingChange[];
}

export interface WireCompared {
  comparison: WireComparison;
  /** All steps of the traces, whichever of them are compared. */
  base_steps: string[];
  other_steps: string[];
}

/** A trace and which of its steps; none for all. */
export interface CompareSide extends Omit<Target, "step"> {
  steps: readonly string[];
}

export type CompareApi = (
  base: CompareSide,
  other: CompareSide,
  signal: AbortSignal,
) => Promise<WireCompared>;

export function createCompareApi(root: URL): CompareApi {
  return (base, other, signal) => {
    const url = withTarget(new URL("api/compare", root), { ...base, step: null });
    for (const step of base.steps) url.searchParams.append("step", step);
    url.searchParams.set("other_run", other.run);
    url.searchParams.set("other_worker", other.worker);
    if (other.trace !== null) url.searchParams.set("other_trace", other.trace);
    for (const step of other.steps) url.searchParams.append("other_step", step);
    return getJson<WireCompared>(url, signal);
  };
}
