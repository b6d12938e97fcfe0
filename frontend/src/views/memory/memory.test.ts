import { describe, expect, test } from "vitest";

import type { MemoryCurve } from "../../api/schema";
import { MEMORY, type MemoryPlace } from "./address";
import { polygon, restOf, stackBlocks, type Block } from "./blockStack";
import { areas, highestOf, levelAt, line, moved } from "./curve";
import { treemap } from "./treemap";

const CURVE: MemoryCurve = {
  device: "cuda:0",
  start_us: 100,
  end_us: 200,
  time_us: [100, 150, 175],
  allocated_bytes: [10, 40, 20],
  reserved_bytes: [50, 50, 50],
  classes: { activation: [0, 30, 10], parameter: [10, 10, 10] },
  exact: true,
  steps: [],
  phases: [],
};

describe("the curve", () => {
  test("stacks the classes in their order, each a step from its time on", () => {
    expect(areas(CURVE, 50)).toEqual([
      {
        key: "parameter",
        path: "M0 800L500 800L500 800L750 800L750 800L1000 800L1000 1000L750 1000L750 1000L500 1000L500 1000L0 1000Z",
      },
      {
        key: "activation",
        path: "M0 800L500 800L500 200L750 200L750 600L1000 600L1000 800L750 800L750 800L500 800L500 800L0 800Z",
      },
    ]);
  });

  test("without classes is one area", () => {
    expect(areas({ ...CURVE, classes: {} }, 50).map(({ key }) => key)).toEqual(["allocated"]);
  });

  test("is as high as what is reserved", () => {
    expect(highestOf(CURVE)).toBe(50);
    expect(line(CURVE, [50, 50, 50], 50)).toBe("M0 0L500 0L500 0L750 0L750 0L1000 0");
  });

  test.each([
    [0, 0],
    [0.49, 0],
    [0.5, 1],
    [0.8, 2],
    [1, 2],
  ])("at %s of the width has the level %s", (fraction, index) => {
    expect(levelAt(CURVE, fraction)).toBe(index);
  });
});

describe("blocks", () => {
  const block = (id: number, bytes: number, from: number | null, to: number | null): Block => ({
    ...{ id, bytes, from, to, kind: from === null ? "parameter" : "activation" },
    ...{ operator: null, operatorId: null, module: null },
  });
  const { stacked, top } = stackBlocks(
    [block(3, 5, 130, null), block(2, 20, 120, 150), block(1, 10, null, null), block(4, 1, 1, 9)],
    100,
    200,
  );

  test("lie upon those before them, and come down when one below is freed", () => {
    expect(stacked.map(({ block: { id }, levels, end }) => [id, levels, end])).toEqual([
      [1, [[100, 0]], 200],
      [2, [[120, 10]], 150],
      [
        3,
        [
          [130, 30],
          [150, 10],
        ],
        200,
      ],
    ]);
    expect(top.at(-1)).toEqual([150, 15]);
  });

  test("leave the rest of what is in use", () => {
    expect(restOf(CURVE, top)).toEqual([0, 25, 5]);
  });

  test("are polygons upon what lies below all of them", () => {
    const [, , third] = stacked;
    expect(third && polygon(third, CURVE, 5, 100)).toBe(
      "M300 600L500 600L500 800L1000 800L1000 850L500 850L500 650L300 650Z",
    );
  });
});

test("a window grows, shrinks and moves within the trace", () => {
  const whole = { from: 0, to: 100 };
  expect(moved({ from: 40, to: 60 }, 0.5, 0, whole)).toEqual({ from: 45, to: 55 });
  expect(moved({ from: 90, to: 100 }, 1, 0.5, whole)).toEqual({ from: 90, to: 100 });
  expect(moved({ from: 20, to: 80 }, 2, 0, whole)).toBeNull();
});

test("rectangles fill the square in proportion", () => {
  const sizes = [5, 1, 3, 0, 2];
  const found = treemap(sizes, (size) => size, 0.5);
  expect(found.map(({ item }) => item)).toEqual([5, 3, 2, 1]);
  for (const { item, width, height } of found) expect(width * height).toBeCloseTo(item / 11);
});

test.each<MemoryPlace>([
  MEMORY.start,
  { device: "cuda:1", chart: "block", table: "blocks", kind: "activation", offset: 200 },
])("an address says the whole place %o", (place) => {
  const query = new URLSearchParams();
  MEMORY.write(place, query);
  expect(MEMORY.read(query)).toEqual(place);
});

test("an address with wrong values is at the defaults", () => {
  expect(MEMORY.read(new URLSearchParams("list=x&offset=-4"))).toEqual(MEMORY.start);
});
