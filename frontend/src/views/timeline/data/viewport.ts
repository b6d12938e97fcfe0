import { lengthOf, type Span } from "../../../text/span";

/** Arithmetic of what is in view. Every function gives a new span within the bounds. */

/** No closer than this, in microseconds: traces are exact to the nanosecond. */
export const LEAST_US = 0.1;

/** Room around the trace, as a share of it. */
const MARGIN = 0.005;

/** All that can be looked at: a trace of this length and some room on both sides. */
export function boundsOf(durationUs: number): Span {
  const length = Math.max(durationUs, 1);
  return { from: -length * MARGIN, to: length * (1 + MARGIN) };
}

export function clampSpan(span: Span, bounds: Span): Span {
  const length = Math.min(Math.max(lengthOf(span), LEAST_US), lengthOf(bounds));
  const middle = (span.from + span.to) / 2;
  const from = Math.min(Math.max(middle - length / 2, bounds.from), bounds.to - length);
  return { from, to: from + length };
}

/** Make the span `factor` times as long, with the time `at` staying where it is on screen. */
export function zoomAt(span: Span, factor: number, at: number, bounds: Span): Span {
  const length = lengthOf(span);
  const wanted = Math.min(Math.max(length * factor, LEAST_US), lengthOf(bounds));
  const from = at - ((at - span.from) / length) * wanted;
  return clampSpan({ from, to: from + wanted }, bounds);
}

/** Move by a share of what is in view; positive to later times. */
export function panBy(span: Span, share: number, bounds: Span): Span {
  const by = lengthOf(span) * share;
  return clampSpan({ from: span.from + by, to: span.to + by }, bounds);
}

/** The inner span in the middle, taking `share` of the width. */
export function around(inner: Span, share: number, bounds: Span): Span {
  const half = Math.max(lengthOf(inner), LEAST_US) / share / 2;
  const middle = (inner.from + inner.to) / 2;
  return clampSpan({ from: middle - half, to: middle + half }, bounds);
}

/** The same zoom, moved no more than needed for `inner` to be seen; zoomed out where it is longer. */
export function bringIntoView(span: Span, inner: Span, bounds: Span): Span {
  const length = lengthOf(span);
  if (lengthOf(inner) > length) return around(inner, 0.6, bounds);
  if (inner.from >= span.from && inner.to <= span.to) return span;
  const middle = (inner.from + inner.to) / 2;
  return clampSpan({ from: middle - length / 2, to: middle + length / 2 }, bounds);
}

/** As `bringIntoView`, and closer where `inner` would be narrower than `least` of `width` pixels. */
export function lookAt(span: Span, inner: Span, bounds: Span, width: number, least = 8): Span {
  const longest = (Math.max(lengthOf(inner), LEAST_US) / least) * Math.max(width, least);
  if (lengthOf(span) <= longest) return bringIntoView(span, inner, bounds);
  return around(inner, Math.max(lengthOf(inner), LEAST_US) / longest, bounds);
}

/**
 * The span a part of the way from one to another. Lengths change by equal factors, and ends in
 * step with the length, so that a zoom about a point keeps that point still.
 */
export function between(a: Span, b: Span, part: number): Span {
  const [first, last] = [lengthOf(a), lengthOf(b)];
  const length = first ** (1 - part) * last ** part;
  const same = Math.abs(first - last) < 1e-6 * last;
  const way = same ? part : (length - first) / (last - first);
  const from = a.from + (b.from - a.from) * way;
  return { from, to: from + length };
}

/** Whether two spans look the same on a chart of this many pixels. */
export function sameSpan(a: Span, b: Span, width: number): boolean {
  const pixel = Math.min(lengthOf(a), lengthOf(b)) / Math.max(width, 1);
  return Math.abs(a.from - b.from) < pixel / 4 && Math.abs(a.to - b.to) < pixel / 4;
}
