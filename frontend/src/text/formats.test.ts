import { expect, test } from "vitest";

import {
  bytes,
  clip,
  count,
  duration,
  durationScale,
  instant,
  percent,
  scaledDuration,
  times,
} from "./formats";

test.each([
  [null, "—"],
  [0, "0 us"],
  [0.01, "<0.1 us"],
  [12.34, "12.3 us"],
  [999.96, "1.00 ms"],
  [1234, "1.23 ms"],
  [118_400, "118.4 ms"],
  [12_345_678, "12.35 s"],
])("a duration of %s reads %s", (us, text) => {
  expect(duration(us)).toBe(text);
});

test("a column has one unit and one precision", () => {
  const scale = durationScale(151_300);
  const cells = [151_300, 2_600, 40, 0, null].map((us) => scaledDuration(us, scale));
  expect(cells).toEqual(["151.3 ms", "2.6 ms", "<0.1 ms", "0.0 ms", "—"]);
});

test.each([
  [5, "us", 1],
  [5_000, "ms", 2],
  [500_000, "ms", 1],
  [50_000_000, "s", 2],
])("a column up to %s us is written in %s with %s digits", (largest, unit, digits) => {
  expect(durationScale(largest)).toEqual({ unit, digits });
});

test("counts, shares, quotients and sizes", () => {
  expect([null, 0, 1184, 0.5, 0.01].map(count)).toEqual(["—", "0", "1,184", "0.5", "<0.1"]);
  expect([null, 0, 0.0001, 0.584, 0.99999, 1].map(percent)).toEqual([
    "—",
    "0.0%",
    "<0.1%",
    "58.4%",
    ">99.9%",
    "100.0%",
  ]);
  expect([null, 2.14, 123.4, 5000].map(times)).toEqual(["—", "2.1×", "123×", "5,000×"]);
  expect([null, 12, 1_234_567].map(bytes)).toEqual(["—", "12 B", "1.2 MB"]);
});

test("a clipped text says how long it was", () => {
  expect(clip("abc", 3)).toBe("abc");
  expect(clip("x".repeat(10_000), 5)).toBe("xxxxx… (10,000 characters)");
});

test.each([
  [null, "—"],
  [0, "0.000 ms"],
  [223_334.2, "223.334 ms"],
  [43_430_000.4, "43.430000 s"],
])("the instant %j reads %j", (us, text) => {
  expect(instant(us)).toBe(text);
});
