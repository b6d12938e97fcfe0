import { expect, test } from "vitest";

import { random } from "../../../testing/random";
import { windowOf, type Drawn } from "../testing";
import { blocksWithin, tileFrom } from "./blocks";

test("a window becomes columns, by row", () => {
  const tile = tileFrom(
    windowOf({
      a: [
        { start: 0, duration: 10, depth: 0, name: "outer" },
        { start: 1, duration: 2, depth: 2, name: "inner", count: 7, event: -1 },
      ],
    }),
  );
  const blocks = tile.blocks.get("a");
  expect(blocks && [...blocks.first]).toEqual([0, 1, 1, 2]);
  expect(blocks && [...blocks.end]).toEqual([10, 3]);
  expect(tile.names[blocks?.name[1] ?? -1]).toBe("inner");
  expect(tile.weight).toBe(4);
});

test("a lane without blocks has no rows", () => {
  expect(tileFrom(windowOf({ a: [] })).blocks.get("a")?.first.length).toBe(1);
});

test("the blocks that touch a span are those that a slow search finds", () => {
  const next = random(8);
  for (let round = 0; round < 300; round++) {
    const drawn: Drawn[] = [];
    for (let depth = 0; depth < 3; depth++) {
      for (let at = next() * 20; at < 100;) {
        const duration = next() * 9;
        drawn.push({ start: at, duration, depth, name: "x" });
        at += duration + (next() < 0.5 ? 0 : next() * 9);
      }
    }
    const blocks = tileFrom(windowOf({ a: drawn })).blocks.get("a");
    if (blocks === undefined) throw new Error("no lane");
    const from = next() * 100;
    const to = from + next() * 30;
    for (let depth = 0; depth < 4; depth++) {
      const [first, last] = blocksWithin(blocks, depth, from, to);
      const slow = drawn.flatMap((one, index) =>
        one.depth === depth && one.start + one.duration >= from && one.start < to ? [index] : [],
      );
      expect(Array.from({ length: last - first }, (_, n) => first + n)).toEqual(slow);
    }
  }
});
