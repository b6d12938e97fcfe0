import { getJson, withTarget, type Target } from "./request";
import type { WireCompared } from "./types";

/** A trace and which of its steps; none for all. */
export interface CompareSide extends Omit<Target, "step"> {
  steps: readonly string[];
}

/** A comparison, with how many rows of each list the server left out to keep the answer short. */
export interface CutCompared extends WireCompared {
  cut?: Readonly<Record<string, number>>;
}

export type CompareApi = (
  base: CompareSide,
  other: CompareSide,
  signal: AbortSignal,
) => Promise<CutCompared>;

export function createCompareApi(root: URL): CompareApi {
  return (base, other, signal) => {
    const url = withTarget(new URL("api/compare", root), { ...base, step: null });
    for (const step of base.steps) url.searchParams.append("step", step);
    url.searchParams.set("other_run", other.run);
    url.searchParams.set("other_worker", other.worker);
    if (other.trace !== null) url.searchParams.set("other_trace", other.trace);
    for (const step of other.steps) url.searchParams.append("other_step", step);
    return getJson<CutCompared>(url, signal);
  };
}
