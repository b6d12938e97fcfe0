/** The place with the largest value, and that over the mean of all; null where nothing is known. */
export function imbalanceOf(
  values: readonly (number | null)[],
): { place: number; us: number; ratio: number } | null {
  const known = values.flatMap((us, place) => (us === null ? [] : [{ place, us }]));
  const [first, ...others] = known;
  if (first === undefined) return null;
  const most = others.reduce((best, one) => (one.us > best.us ? one : best), first);
  const mean = known.reduce((sum, { us }) => sum + us, 0) / known.length;
  return { ...most, ratio: mean > 0 ? most.us / mean : 1 };
}
