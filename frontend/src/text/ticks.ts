import { scaledDuration, type DurationScale } from "./formats";
import { lengthOf, type Span } from "./span";

/** A time to write on an axis. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

const NICE = [1, 2, 5, 10] as const;

/** Round times of an axis of `width` pixels, at least `least` pixels apart. */
export function ticksOf(span: Span, width: number, least = 110): Tick[] {
  if (width <= 0) return [];
  const step = roundUp((lengthOf(span) / width) * least);
  const scale = scaleOf(span, step);
  const ticks: Tick[] = [];
  for (let n = Math.ceil(span.from / step); n * step <= span.to; n++) {
    ticks.push({
      at: n * step,
      text: n === 0 ? `0 ${scale.unit}` : scaledDuration(n * step, scale),
    });
  }
  return ticks;
}

/** The next 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = NICE.find((nice) => nice * power >= value * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** One unit for the whole axis, and enough digits to distinguish one tick from the next. */
function scaleOf(span: Span, step: number): DurationScale {
  const largest = Math.max(Math.abs(span.from), Math.abs(span.to));
  const unit = largest >= 9.9e6 ? "s" : largest >= 1e3 ? "ms" : "us";
  const inUnit = step / { us: 1, ms: 1e3, s: 1e6 }[unit];
  const digits = Math.max(0, Math.ceil(-Math.log10(inUnit) - 1e-9));
  return { unit, digits };
}
