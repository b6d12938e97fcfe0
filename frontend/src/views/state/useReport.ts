import { useMemo } from "react";

import type { Target } from "../../api/client";
import type { WireReport } from "../../api/types";
import { useServices } from "./context";
import { useLoad, type Loaded } from "./useLoad";

export interface Reports {
  /** The report of all steps: where the names of the steps come from. */
  whole: Loaded<WireReport>;
  /** The report to show: of one step, where one is chosen. */
  shown: Loaded<WireReport>;
}

/** The whole report first, then, from what the server then has at hand, the chosen step's. */
export function useReports(target: Target): Reports {
  const { api } = useServices();
  const { run, worker, trace, step } = target;
  const loadWhole = useMemo(
    () => (signal: AbortSignal) => api.report({ run, worker, trace, step: null }, signal),
    [api, run, worker, trace],
  );
  const whole = useLoad(loadWhole);
  const ready = whole.status === "ready";
  const loadStep = useMemo(
    () =>
      ready && step !== null
        ? (signal: AbortSignal) => api.report({ run, worker, trace, step }, signal)
        : null,
    [api, run, worker, trace, step, ready],
  );
  const narrowed = useLoad(loadStep);
  return { whole, shown: step === null || !ready ? whole : narrowed };
}
