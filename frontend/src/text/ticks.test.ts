import { expect, test } from "vitest";

import { random } from "../testing/random";
import { roundUp, ticksOf } from "./ticks";

test("round times, one unit, digits enough", () => {
  const texts = (from: number, to: number): string[] =>
    ticksOf({ from, to }, 500).map(({ text }) => text);
  expect(texts(520_000, 620_000)).toEqual(["550 ms", "600 ms"]);
  expect(texts(0, 900)).toEqual(["0 us", "200 us", "400 us", "600 us", "800 us"]);
  expect(texts(1_500_000, 1_500_002)).toEqual([
    "1500.0000 ms",
    "1500.0005 ms",
    "1500.0010 ms",
    "1500.0015 ms",
    "1500.0020 ms",
  ]);
  expect(texts(59e6, 61e6)).toEqual(["59.0 s", "59.5 s", "60.0 s", "60.5 s", "61.0 s"]);
});

test("however close, ticks have room and say different things", () => {
  const next = random(4);
  for (let round = 0; round < 1000; round++) {
    const from = next() * 1e8;
    const to = from + 10 ** (next() * 9 - 1);
    const width = 300 + next() * 2000;
    const ticks = ticksOf({ from, to }, width);
    const texts = new Set(ticks.map(({ text }) => text));
    expect(texts.size).toBe(ticks.length);
    expect(ticks.length).toBeLessThanOrEqual(width / 110 + 1);
    expect(ticks.length).toBeGreaterThanOrEqual(Math.floor(width / 275) - 1);
  }
});

test.each([
  [1, 1],
  [1.1, 2],
  [0.03, 0.05],
  [7e3, 1e4],
])("%d is rounded up to %d", (value, nice) => {
  expect(roundUp(value)).toBeCloseTo(nice, 12);
});
