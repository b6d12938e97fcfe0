import { expect, test } from "vitest";

import { bytesOf, readableOn } from "../../../theme/colours";
import { tileFrom } from "../data/blocks";
import { windowOf } from "../testing";
import { packed, shadesOf, shareOfLength, strengthOf, STRENGTHS, unpacked } from "./raster";

const bytes = (value: number | undefined): number[] => [
  ...new Uint8Array(new Uint32Array([value ?? 0]).buffer),
];

test("a colour is packed as a picture holds it", () => {
  expect(bytes(packed(bytesOf("#3d7bd9")))).toEqual([0x3d, 0x7b, 0xd9, 255]);
});

test("shades go from the palest to the deepest", () => {
  const shades = shadesOf("#000000", "#ffffff", 20, 80);
  expect(bytes(shades[0])).toEqual([204, 204, 204, 255]);
  expect(bytes(shades[STRENGTHS - 1])).toEqual([51, 51, 51, 255]);
});

test("what is further inside, or takes longer, is stronger", () => {
  const blocks = tileFrom(
    windowOf({
      a: [
        { start: 0, duration: 1, depth: 0, name: "short" },
        { start: 10, duration: 900, depth: 0, name: "long" },
        { start: 1000, duration: 900, depth: 0, name: "many", count: 900 },
      ],
    }),
  ).blocks.get("a");
  if (blocks === undefined) throw new Error("no lane");
  const device = strengthOf("device", 1);
  expect(device(blocks, 1, 0)).toBeGreaterThan(device(blocks, 0, 0));
  expect(device(blocks, 2, 0)).toBe(device(blocks, 0, 0));
  const host = strengthOf("host", 40);
  const strengths = [0, 1, 2, 3, 9, 39].map((depth) => host(blocks, 0, depth));
  expect(strengths).toEqual([...strengths].sort((a, b) => a - b));
  expect(strengths.at(-1)).toBe(STRENGTHS - 1);
  expect(shareOfLength(1e9)).toBe(1);
  expect(shareOfLength(0)).toBeGreaterThan(0);
});

test("the text that can be read on a ground", () => {
  expect(readableOn([0, 0, 0], "#ffffff", "#222222")).toBe("#ffffff");
  expect(readableOn([240, 200, 160], "#ffffff", "#222222")).toBe("#222222");
  expect(unpacked(packed([1, 2, 3]))).toEqual([1, 2, 3]);
});
