import type { Finding } from "../api/schema";

/** Shares are of a step of 100 us, of later ones of 80 us. */
export const BASIS = {
  stepUs: 100,
  laterUs: 80,
  without: "the profiler",
  of: "device",
  per: "per step",
} as const;

export function finding(rest: Partial<Finding> = {}): Finding {
  return {
    id: "",
    rule: "scalar-read",
    severity: "medium",
    title: "a number is read",
    where: "head",
    module: "head",
    module_id: null,
    cost_us_per_step: 10,
    device_work_us_per_step: 0,
    once_us: null,
    gain_us_per_step: 5,
    unrecorded_gain_us_per_step: null,
    gain_is_estimated: false,
    negligible: false,
    gain_bound_us_per_step: 5,
    saves_after: null,
    gain_unknown: null,
    evidence: "",
    fix: "",
    confidence: "high",
    reference: "",
    advice: [],
    count: 1,
    examples: [],
    examples_us: [],
    examples_event_id: [],
    sync_ids: [],
    caveats: [],
    ...rest,
  };
}
