import {
  durationScale,
  NOTHING,
  scaledDuration,
  count,
  duration,
  type DurationScale,
} from "../../text/formats";

/** A difference of durations, always with its sign; a dash where it is not known. */
export function changeText(us: number | null, scale: DurationScale): string {
  if (us === null) return NOTHING;
  if (us === 0) return "0";
  return sign(us) + scaledDuration(Math.abs(us), scale);
}

/** The same on its own, with the unit that suits it. */
export function changeOf(us: number | null): string {
  if (us === null) return NOTHING;
  return us === 0 ? "0" : sign(us) + duration(Math.abs(us));
}

/** A difference of counts. */
export function countChange(value: number | null): string {
  if (value === null) return NOTHING;
  return value === 0 ? "0" : sign(value) + count(Math.abs(value));
}

/** "45.46 → 1.42 ms", in the unit of the larger one. */
export function fromTo(before: number | null, after: number | null): string {
  const scale = durationScale(Math.max(before ?? 0, after ?? 0));
  const from = scaledDuration(before, scale);
  const unit = ` ${scale.unit}`;
  const bare = after !== null && from.endsWith(unit) ? from.slice(0, -unit.length) : from;
  return `${bare} → ${scaledDuration(after, scale)}`;
}

function sign(value: number): string {
  return value > 0 ? "+" : "\u2212";
}
