/** Spans of time on the timeline: microseconds since the start of the trace. */

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A span of two texts; null where they name none. */
export function spanFrom(from: string | null, to: string | null): Span | null {
  if (from === null || to === null || from.trim() === "" || to.trim() === "") return null;
  const span = { from: Number(from), to: Number(to) };
  return Number.isFinite(span.from) && Number.isFinite(span.to) && span.from < span.to
    ? span
    : null;
}

/** A span written as `12.25..13`. */
export function spanOf(text: string | null): Span | null {
  const [from = null, to = null, more] = text?.split("..") ?? [];
  return more === undefined ? spanFrom(from, to) : null;
}

export function spanText(span: Span): string {
  return `${timeText(span.from)}..${timeText(span.to)}`;
}

/** A time to the nanosecond, which is as exact as traces are. */
export function timeText(us: number): string {
  return String(Number(us.toFixed(3)));
}

export function lengthOf(span: Span): number {
  return span.to - span.from;
}
