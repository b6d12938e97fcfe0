import { expect, test } from "vitest";

import { module, report } from "../../testing/report";
import { differenceBlocks } from "./DifferenceIcicle";
import { moduleChange, pair } from "./testing";

const AFTER = report({
  modules: [module("", null), module("a", ""), module("a.b", "a"), module("c", "")],
}).modules;
const CHANGES = [
  moduleChange("", pair(0, 0), { other_id: 0 }),
  moduleChange("a", pair(2, 2), { other_id: 1 }),
  moduleChange("a.b", pair(2, 6), { other_id: 2 }),
  moduleChange("c", pair(4, 3), { other_id: 3 }),
  moduleChange("a.gone", pair(1, null), {
    other_id: null,
    backward_us: { base: 1, other: null, change: -1 },
  }),
];

test("a block is as wide as the longer side, its change is that of all below it", () => {
  const blocks = differenceBlocks(CHANGES, AFTER);
  const found = blocks.map(({ id, level, width, change }) => [
    id,
    level,
    Math.round(width * 13),
    change,
  ]);
  expect(found).toEqual([
    ["", 0, 13, 2],
    ["a", 1, 9, 3],
    ["c", 1, 4, -1],
    ["a.b", 2, 6, 4],
    ["a.gone", 2, 1, -1],
  ]);
  expect(blocks.map(({ shade }) => shade)).toEqual([0.5, 0.75, -0.25, 1, -0.25]);
});

test("what cannot be seen is left to the table, and nothing at all is no picture", () => {
  const small = [...CHANGES, moduleChange("d", pair(0, 0.001), { other_id: 9 })];
  expect(differenceBlocks(small, AFTER).map(({ id }) => id)).not.toContain("d");
  expect(differenceBlocks([], [])).toEqual([]);
  expect(differenceBlocks([moduleChange("a", pair(null, 4), { status: "unknown" })], [])).toEqual(
    [],
  );
});
