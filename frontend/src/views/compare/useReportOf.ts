import { useMemo } from "react";

import type { CompareSide } from "../../api/client";
import type { WireReport } from "../../api/types";
import { useLoad, useServices } from "../../parts/services";

/** The report of all steps of a side; null where it is not wanted or not there yet. */
export function useReportOf(side: CompareSide, wanted: boolean): WireReport | null {
  const { api } = useServices();
  const { run, worker, trace } = side;
  const load = useMemo(
    () =>
      wanted
        ? (signal: AbortSignal) => api.report({ run, worker, trace, step: null }, signal)
        : null,
    [api, run, worker, trace, wanted],
  );
  const loaded = useLoad(load);
  return loaded.status === "ready" ? loaded.value : null;
}
