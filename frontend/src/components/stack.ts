export interface Stacked<Key> {
  readonly key: Key;
  /** From the left edge, in fractions of the width. */
  readonly start: number;
  readonly length: number;
}

/**
 * Parts of a bar one after another, `whole` being its full width; what is nothing is left out,
 * and what would not fit is cut at the edge.
 */
export function stack<Key>(
  parts: readonly { key: Key; us: number }[],
  whole: number,
): Stacked<Key>[] {
  const bars: Stacked<Key>[] = [];
  let at = 0;
  for (const { key, us } of parts) {
    const length = whole > 0 ? Math.min(us / whole, 1 - at) : 0;
    if (length > 0) bars.push({ key, start: at, length });
    at += Math.max(0, length);
  }
  return bars;
}
