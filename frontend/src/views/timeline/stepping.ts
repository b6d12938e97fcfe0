import { count } from "../../text/formats";
import type { Span } from "../../text/span";

interface Hit {
  readonly id: number;
  readonly start: number;
}

/**
 * The hit to go to next: after the selected one, or where that is none of them the first one from
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
  const all = count(total) + (total > hits.length ? ` (the first ${hits.length} outlined)` : "");
  return at < 0 ? `${all} found` : `${count(at + 1)} of ${all}`;
}
