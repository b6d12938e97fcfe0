import { useCallback, useEffect, useMemo, useState } from "react";

import type { Target } from "../../api/client";
import type { WireSearch, WireSpot } from "../../api/timeline";
import { useServices } from "../../parts/context";
import { useLoad } from "../../parts/useLoad";

const TYPING_MS = 200;

export interface Hits {
  found: readonly WireSpot[];
  /** How many there are in each part of the trace. */
  density: readonly number[];
  /** null while nothing is searched or the answer is awaited. */
  total: number | null;
  failed: boolean;
  /** Ask for those that follow, where there are more than were sent; the first of them, or null. */
  more: () => Promise<WireSpot | null>;
}

const NONE: Hits = {
  found: [],
  density: [],
  total: null,
  failed: false,
  more: () => Promise.resolve(null),
};

/** The events whose names hold a text; asked for when the typing pauses. */
export function useHits(target: Target, text: string): Hits {
  const { api } = useServices();
  const wanted = useLate(text.trim());
  const load = useMemo(
    () =>
      wanted === ""
        ? null
        : (signal: AbortSignal): Promise<WireSearch> =>
            api.timeline.search(target, { text: wanted }, signal),
    [api, target, wanted],
  );
  const answer = useLoad(load);
  // What was found of the text before is not what is looked for now.
  const current = wanted === text.trim();
  const value = current && answer.status === "ready" ? answer.value : null;
  const failed = current && answer.status === "error";
  const [later, setLater] = useState<{ of: WireSearch; found: WireSpot[] } | null>(null);
  const more = useCallback(async () => {
    if (value === null) return null;
    const all = [...value.hits, ...(later?.of === value ? later.found : [])];
    if (all.length >= value.total) return null;
    const query = { text: wanted, from: all.at(-1)?.start ?? 0 };
    const next = await api.timeline.search(target, query, new AbortController().signal);
    const known = new Set(all.map(({ id }) => id));
    const found = next.hits.filter(({ id, start }) => !known.has(id) && start >= query.from);
    setLater({ of: value, found: [...all.slice(value.hits.length), ...found] });
    return found[0] ?? null;
  }, [api, target, wanted, value, later]);
  return useMemo(() => {
    if (failed && wanted !== "") return { ...NONE, failed };
    if (value === null || wanted === "") return NONE;
    const found = later?.of === value ? [...value.hits, ...later.found] : value.hits;
    return { found, density: value.density, total: value.total, failed: false, more };
  }, [value, wanted, failed, later, more]);
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
