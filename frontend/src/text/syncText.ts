import type { WireRule } from "../api/rules";

/** Cause of the call that the profiler itself makes. */
const PROFILER = "profiler";

/** Why the host waited, in words; the cause's own name where no rule tells. */
export function causeTitle(cause: string, rules: readonly WireRule[] | null): string {
  if (cause === PROFILER) return "The profiler waits as it starts or stops";
  return rules?.find((rule) => rule.id === cause)?.title ?? cause;
}

export function isProfiler(cause: string): boolean {
  return cause === PROFILER;
}

/** ProfilerStep#5 is step 5 to everyone. */
export function shortStep(name: string): string {
  return name.replace(/^ProfilerStep#/, "");
}
