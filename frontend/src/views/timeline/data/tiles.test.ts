import { expect, test } from "vitest";

import { random } from "../../../testing/random";
import { lengthOf, type Span } from "../../../text/span";
import {
  keyText,
  levelFor,
  piecesFor,
  tilesInView,
  tileSpan,
  tilesWanted,
  type TileKey,
} from "./tiles";

const bounds: Span = { from: -10, to: 2010 };

function someSpan(next: () => number): Span {
  const length = Math.max(0.1, lengthOf(bounds) * next() ** 5);
  const from = bounds.from + next() * (lengthOf(bounds) - length);
  return { from, to: from + length };
}

test("the tiles in view cover it, and are two or three", () => {
  const next = random(5);
  for (let round = 0; round < 2000; round++) {
    const span = someSpan(next);
    const tiles = tilesInView(span, bounds);
    const spans = tiles.map((key) => tileSpan(key, bounds));
    expect(spans[0]?.from).toBeLessThanOrEqual(span.from + 1e-6);
    expect(spans.at(-1)?.to).toBeGreaterThanOrEqual(span.to - 1e-6);
    expect(tiles.length).toBeLessThanOrEqual(3);
    for (const one of spans) {
      expect(lengthOf(one)).toBeLessThanOrEqual(lengthOf(span) * 1.000001);
      expect(lengthOf(one) * 2).toBeGreaterThan(lengthOf(span));
      expect(one.to).toBeGreaterThan(span.from - 1e-6);
      expect(one.from).toBeLessThan(span.to + 1e-6);
    }
  }
});

test("the whole trace is one tile, and asked for once", () => {
  expect(levelFor(bounds, bounds)).toBe(0);
  expect(tilesWanted(bounds, bounds)).toEqual([{ level: 0, index: 0 }]);
  const wanted = tilesWanted({ from: 500, to: 600 }, bounds).map(keyText);
  expect(wanted[0]).toBe("0/0");
  expect(new Set(wanted).size).toBe(wanted.length);
  expect(tilesWanted({ from: -10, to: 2 }, bounds).every(({ index }) => index >= 0)).toBe(true);
});

test("what is drawn covers the view without gap or overlap, once the whole is there", () => {
  const next = random(6);
  for (let round = 0; round < 500; round++) {
    const held = new Map<string, TileKey>([["0/0", { level: 0, index: 0 }]]);
    const span = someSpan(next);
    const inView = tilesInView(span, bounds);
    for (let n = 0; n < 40; n++) {
      const level = Math.max(0, levelFor(span, bounds) + Math.floor(next() * 7) - 3);
      const around = tilesInView(span, bounds)[0]?.index ?? 0;
      const index = Math.floor(around * 2 ** (level - (inView[0]?.level ?? 0)) + next() * 3);
      if (index >= 0 && index < 2 ** level) held.set(keyText({ level, index }), { level, index });
    }
    const pieces = piecesFor(inView, bounds, (key) => held.get(keyText(key)));
    let at = tileSpan(inView[0] ?? { level: 0, index: 0 }, bounds).from;
    for (const { tile, clip } of pieces) {
      expect(clip.from).toBeCloseTo(at, 6);
      const whole = tileSpan(tile, bounds);
      expect(whole.from).toBeLessThanOrEqual(clip.from + 1e-6);
      expect(whole.to).toBeGreaterThanOrEqual(clip.to - 1e-6);
      at = clip.to;
    }
    expect(at).toBeGreaterThanOrEqual(span.to - 1e-6);
    for (const key of inView) {
      if (!held.has(keyText(key))) continue;
      expect(pieces.some(({ tile }) => keyText(tile) === keyText(key))).toBe(true);
    }
  }
});

test("with nothing there nothing is drawn", () => {
  expect(piecesFor(tilesInView(bounds, bounds), bounds, () => undefined)).toEqual([]);
});
