import { useMemo } from "react";

import type { CompareSide } from "../../api/client";
import type { ReportData } from "../../api/schema";
import { useLoad, useServices } from "../../parts/services";

/** The report of all steps of a side; null until it is there. */
export function useReportOf(side: CompareSide): ReportData | null {
  const { api } = useServices();
  const { run, worker, trace } = side;
  const load = useMemo(
    () => (signal: AbortSignal) => api.report({ run, worker, trace, step: null }, signal),
    [api, run, worker, trace],
  );
  const loaded = useLoad(load);
  return loaded.status === "ready" ? loaded.value : null;
}
