import { useMemo, useState } from "react";

import type { ApiError } from "../api/client";
import type { WireRuns } from "../api/types";
import { newTraces, type News } from "./newTraces";
import { useServices } from "../parts/context";
import { useLoad } from "../parts/useLoad";

export interface Runs {
  /** The runs as they were listed last. */
  value: WireRuns | null;
  error: ApiError | null;
  /** What the last refresh found; null before the first, and while one is under way. */
  news: News | null;
  refresh: () => void;
}

/** The list of runs. A refresh that fails leaves the list as it was. */
export function useRuns(): Runs {
  const { api } = useServices();
  const loaded = useLoad(api.runs);
  const { status, retry } = loaded;
  const [before, setBefore] = useState<WireRuns | null>(null);
  const value = loaded.status === "error" ? before : loaded.value;
  const news = useMemo(
    () =>
      before === null || value === null || status !== "ready" ? null : newTraces(before, value),
    [before, status, value],
  );
  return {
    value,
    error: loaded.status === "error" ? loaded.error : null,
    news,
    refresh: () => {
      setBefore(value);
      retry();
    },
  };
}
