import { describe, expect, test } from "vitest";

import { random } from "../../../testing/random";
import { lengthOf, type Span } from "../../../text/span";
import {
  around,
  between,
  boundsOf,
  bringIntoView,
  clampSpan,
  LEAST_US,
  lookAt,
  panBy,
  sameSpan,
  zoomAt,
} from "./viewport";

const bounds = boundsOf(1000);

function someSpan(next: () => number): Span {
  const from = next() * 1400 - 200;
  return { from, to: from + next() ** 6 * 1500 };
}

const within = (span: Span): boolean =>
  span.from >= bounds.from - 1e-9 &&
  span.to <= bounds.to + 1e-9 &&
  lengthOf(span) >= LEAST_US - 1e-9;

test("whatever is done, what is in view is in the trace", () => {
  const next = random(1);
  for (let round = 0; round < 2000; round++) {
    const span = clampSpan(someSpan(next), bounds);
    const other = someSpan(next);
    expect(within(span)).toBe(true);
    expect(within(zoomAt(span, 4 ** (next() * 4 - 2), span.from + next(), bounds))).toBe(true);
    expect(within(panBy(span, next() * 4 - 2, bounds))).toBe(true);
    expect(within(around(other, 0.6, bounds))).toBe(true);
    expect(within(bringIntoView(span, other, bounds))).toBe(true);
  }
});

test("the time under the pointer stays under it", () => {
  const next = random(2);
  for (let round = 0; round < 500; round++) {
    const span = clampSpan({ from: 300 + next() * 100, to: 500 + next() * 100 }, bounds);
    const at = span.from + next() * lengthOf(span);
    const zoomed = zoomAt(span, 0.2 + next(), at, bounds);
    const place = (s: Span): number => (at - s.from) / lengthOf(s);
    expect(place(zoomed)).toBeCloseTo(place(span), 6);
  }
});

describe("on the way from one span to another", () => {
  test("it begins and ends there", () => {
    const next = random(3);
    for (let round = 0; round < 500; round++) {
      const [a, b] = [clampSpan(someSpan(next), bounds), clampSpan(someSpan(next), bounds)];
      expect(between(a, b, 0).from).toBeCloseTo(a.from, 6);
      expect(between(a, b, 0).to).toBeCloseTo(a.to, 6);
      expect(between(a, b, 1).from).toBeCloseTo(b.from, 6);
      expect(between(a, b, 1).to).toBeCloseTo(b.to, 6);
    }
  });

  test("a zoom about a point keeps the point still", () => {
    const a = { from: 100, to: 900 };
    const b = zoomAt(a, 0.01, 300, bounds);
    for (const part of [0.1, 0.5, 0.9]) {
      const span = between(a, b, part);
      expect((300 - span.from) / lengthOf(span)).toBeCloseTo(0.25, 6);
    }
  });
});

test("what is in view already does not move", () => {
  const span = { from: 100, to: 200 };
  expect(bringIntoView(span, { from: 120, to: 130 }, bounds)).toBe(span);
  expect(bringIntoView(span, { from: 320, to: 340 }, bounds)).toEqual({ from: 280, to: 380 });
  expect(lengthOf(bringIntoView(span, { from: 100, to: 400 }, bounds))).toBeCloseTo(500);
});

test("looked at is what is wide enough to be seen", () => {
  const far = lookAt({ from: 0, to: 1000 }, { from: 500, to: 501 }, bounds, 800);
  expect(lengthOf(far)).toBeCloseTo(100);
  expect((far.from + far.to) / 2).toBeCloseTo(500.5);
  const near = { from: 490, to: 510 };
  expect(lookAt(near, { from: 500, to: 501 }, bounds, 800)).toBe(near);
});

test("spans that differ by less than a pixel are the same", () => {
  expect(sameSpan({ from: 0, to: 1000 }, { from: 0.1, to: 1000 }, 1000)).toBe(true);
  expect(sameSpan({ from: 0, to: 1000 }, { from: 0, to: 1001 }, 1000)).toBe(false);
});
