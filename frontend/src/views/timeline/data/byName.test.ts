import { expect, test } from "vitest";

import { type Blocks, colouredByName, type Tile } from "./blocks";

const tile = {
  names: ["volta_sgemm_64x64_tn", "ampere_sgemm_64x64_tn", "relu"],
} as unknown as Tile;

function blocks(name: number[]): Blocks {
  return { name: new Int32Array(name), colour: new Uint8Array(name.length) } as unknown as Blocks;
}

test("what has one short name has one colour, in whatever tile", () => {
  const [one, same, other] = colouredByName(tile, blocks([0, 1, 2]), 12).colour;
  expect(one).toBe(same);
  expect(one).toBeGreaterThanOrEqual(12);
  expect(other).not.toBe(one);
  const again = { names: [...tile.names].reverse() } as unknown as Tile;
  expect([...colouredByName(again, blocks([2, 0]), 12).colour]).toEqual([one, other]);
});

test("events of several names in one block have the colour that they had", () => {
  expect([...colouredByName(tile, blocks([-1]), 12).colour]).toEqual([0]);
});
