import { expect, test } from "vitest";

import { random } from "../../../testing/random";
import { tileFrom } from "../data/blocks";
import { windowOf, type Drawn } from "../testing";
import { clearLines, drawRow, fill, makeLines, mix, stamp, STRENGTHS, type Ink } from "./raster";

const WHITE = 0xffffffff;
const BLACK = 0xff000000;

const ink: Ink = { ground: WHITE, shades: [new Uint32Array(STRENGTHS).fill(BLACK)] };

/** How dark a pixel is, from 0 to 1. */
const dark = (packed: number | undefined): number => 1 - ((packed ?? 0) & 0xff) / 255;

test("colours are mixed byte by byte", () => {
  expect(mix(WHITE, BLACK, 0)).toBe(WHITE);
  expect(mix(WHITE, BLACK, 1)).toBe(BLACK);
  const next = random(9);
  for (let round = 0; round < 2000; round++) {
    const a = Math.floor(next() * 2 ** 32);
    const b = Math.floor(next() * 2 ** 32);
    const share = next();
    const mixed = mix(a, b, share);
    for (const shift of [0, 8, 16, 24]) {
      const [x, y] = [(a >>> shift) & 255, (b >>> shift) & 255];
      expect(Math.abs(((mixed >>> shift) & 255) - (x + (y - x) * share))).toBeLessThan(2);
    }
  }
});

test("a span darkens each pixel by what it covers of it", () => {
  const next = random(10);
  for (let round = 0; round < 2000; round++) {
    const line = new Uint32Array(20).fill(WHITE);
    const from = next() * 30 - 5;
    const to = from + 0.5 + next() * 12;
    fill(line, from, to, BLACK);
    for (let pixel = 0; pixel < 20; pixel++) {
      const cover = Math.max(0, Math.min(to, pixel + 1) - Math.max(from, pixel));
      expect(Math.abs(dark(line[pixel]) - cover)).toBeLessThan(0.02);
    }
  }
});

function lineOf(drawn: Drawn[], clip = { from: 0, to: 100 }, width = 100): number[] {
  const blocks = tileFrom(windowOf({ a: drawn })).blocks.get("a");
  if (blocks === undefined) throw new Error("no lane");
  const lines = makeLines(width);
  clearLines(lines, WHITE);
  const frame = { span: { from: 0, to: 100 }, width, gap: 1 };
  drawRow(lines, blocks, 0, clip, frame, ink, () => 0);
  return [...lines.body].map(dark);
}

test("what is too short to see is seen", () => {
  const line = lineOf([{ start: 50.2, duration: 0.0001, depth: 0, name: "x" }]);
  expect(line[50]).toBeGreaterThan(0.6);
});

test("neighbours are separated by a gap", () => {
  const line = lineOf([
    { start: 10, duration: 20, depth: 0, name: "x" },
    { start: 30, duration: 20, depth: 0, name: "x" },
  ]);
  expect(line.slice(10, 29).every((one) => one === 1)).toBe(true);
  expect(line[29]).toBe(0);
  expect(line[30]).toBe(1);
});

test("pieces side by side draw what one whole draws", () => {
  const next = random(11);
  for (let round = 0; round < 200; round++) {
    const drawn: Drawn[] = [];
    for (let at = 0; at < 100;) {
      const duration = 1 + next() * 30;
      drawn.push({ start: at, duration, depth: 0, name: "x" });
      at += duration + next() * 5;
    }
    const cut = next() * 100;
    const whole = lineOf(drawn);
    const left = lineOf(drawn, { from: 0, to: cut });
    const right = lineOf(drawn, { from: cut, to: 100 });
    whole.forEach((value, pixel) => {
      const own = (pixel < Math.round(cut) ? left : right)[pixel] ?? 0;
      expect(own).toBe(value);
      expect((pixel < Math.round(cut) ? right : left)[pixel]).toBe(0);
    });
  }
});

test("a row is copied to its lines, and to none beyond the picture", () => {
  const lines = makeLines(2);
  lines.body.fill(1);
  lines.edge.fill(2);
  lines.stripe.fill(3);
  const column = (top: number, height: number): number[] => {
    const pixels = new Uint32Array(2 * 12);
    stamp(pixels, lines, top, height, { from: 0, to: 12 });
    return [...pixels].filter((_, index) => index % 2 === 0);
  };
  expect(column(2, 8)).toEqual([0, 0, 2, 1, 3, 1, 1, 1, 3, 2, 0, 0]);
  expect(column(-3, 6)).toEqual([1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect(column(10, 8)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1]);
});
