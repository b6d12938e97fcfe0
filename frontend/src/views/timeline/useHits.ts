import { useEffect, useMemo, useState } from "react";

import type { Target } from "../../api/client";
import type { WireSearch, WireSpot } from "../../api/timeline";
import { useServices } from "../state/context";
import { useLoad } from "../state/useLoad";

const TYPING_MS = 200;

export interface Hits {
  found: readonly WireSpot[];
  /** How many there are in each part of the trace. */
  density: readonly number[];
  /** null while nothing is searched or the answer is awaited. */
  total: number | null;
  failed: boolean;
}

const NONE: Hits = { found: [], density: [], total: null, failed: false };

/** The events whose names hold a text; asked for when the typing pauses. */
export function useHits(target: Target, text: string): Hits {
  const { api } = useServices();
  const wanted = useLate(text.trim());
  const load = useMemo(
    () =>
      wanted === ""
        ? null
        : (signal: AbortSignal): Promise<WireSearch> => api.timeline.search(target, wanted, signal),
    [api, target, wanted],
  );
  const answer = useLoad(load);
  const value = answer.status === "ready" ? answer.value : null;
  const failed = answer.status === "error";
  return useMemo(() => {
    if (failed && wanted !== "") return { ...NONE, failed };
    return value === null || wanted === ""
      ? NONE
      : { found: value.hits, density: value.density, total: value.total, failed: false };
  }, [value, wanted, failed]);
}

function useLate(text: string): string {
  const [late, setLate] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => {
      setLate(text);
    }, TYPING_MS);
    return () => {
      window.clearTimeout(timer);
    };
  }, [text]);
  return late;
}
