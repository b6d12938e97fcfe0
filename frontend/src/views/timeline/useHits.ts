import { useCallback, useEffect, useMemo, useState } from "react";

import type { Target } from "../../api/request";
import type { EventSummary, SearchResult } from "../../api/schema";
import { useAsk, useServices } from "../../parts/services";
import { count } from "../../text/formats";
import type { Span } from "../../text/span";

const TYPING_MS = 200;

export interface Hits {
  found: readonly EventSummary[];
  /** How many there are in each part of the trace. */
  density: readonly number[];
  /** null while nothing is searched or the answer is awaited. */
  total: number | null;
  failed: boolean;
  /** Ask for those that follow, where there are more than were sent; the first of them, or null. */
  more: () => Promise<EventSummary | null>;
}

const NONE: Hits = {
  found: [],
  density: [],
  total: null,
  failed: false,
  more: () => Promise.resolve(null),
};

/** The events whose names hold a text; asked for when the typing stops. */
export function useHits(target: Target, text: string): Hits {
  const { api } = useServices();
  const wanted = useLate(text.trim());
  const answer = useAsk(api.timeline.search, wanted === "" ? null : [target, { text: wanted }]);
  // What was found of the text before is not what is looked for now.
  const current = wanted === text.trim();
  const value = current && answer.status === "ready" ? answer.value : null;
  const failed = current && answer.status === "error";
  const [later, setLater] = useState<{ of: SearchResult; found: EventSummary[] } | null>(null);
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
    const timer = window.setTimeout(() => setLate(text), TYPING_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  return late;
}

interface Hit {
  readonly id: number;
  readonly start: number;
}

/**
 * The hit to go to next: after the selected one, or where that is not among them the first one from
 * the middle of what is in view; round and round. `hits` by start; null where there are none.
 */
export function hitAfter<T extends Hit>(
  hits: readonly T[],
  selected: string | null,
  shown: Span,
  step: 1 | -1,
): T | null {
  if (hits.length === 0) return null;
  const at = hits.findIndex(({ id }) => String(id) === selected);
  if (at >= 0) return hits[(at + step + hits.length) % hits.length] ?? null;
  return step === 1
    ? (hits.find(({ start }) => start >= shown.from) ?? hits[0] ?? null)
    : (hits.findLast(({ start }) => start <= shown.to) ?? hits.at(-1) ?? null);
}

/** How a search went, in a word. */
export function foundText(
  hits: readonly Hit[],
  total: number | null,
  selected: string | null,
): string | null {
  if (total === null) return null;
  if (total === 0) return "none found";
  const at = hits.findIndex(({ id }) => String(id) === selected);
  return at < 0 ? `${count(total)} found` : `${count(at + 1)} of ${count(total)}`;
}
