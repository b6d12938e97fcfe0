import { describe, expect, test } from "vitest";

import type { CollectiveKind } from "../../api/schema";
import { imbalanceOf } from "./BalanceList";
import { RANKS, type RanksPlace } from "./address";
import { along, binsOf, decades } from "./collectives";
import { cellAt, folded, medianOf, moved, pixelsOf, scaleOf, shade, ticks } from "./heat";
import { moduleOf, timelineOf } from "./links";

describe("the heat map", () => {
  test("goes from the smallest to the largest value", () => {
    expect(
      scaleOf([
        [10, null],
        [50, 30],
      ]),
    ).toEqual({ low: 10, high: 50 });
    expect(scaleOf([[null]])).toBeNull();
  });

  test("leaves small differences pale", () => {
    const scale = scaleOf([[99, 100]]);
    expect(scale).toEqual({ low: 90, high: 100 });
    expect(shade(100, scale ?? { low: 0, high: 0 })).toBe(1);
  });

  test("of equal values has one colour", () => {
    expect(shade(0, { low: 0, high: 0 })).toBeCloseTo(0.06);
  });

  test("has a pixel for each cell, transparent where there is no step", () => {
    const pixels = pixelsOf([[0, null, 10]], { low: 0, high: 10 }, [0, 0, 0], [200, 100, 50]);
    expect([...pixels]).toEqual([12, 6, 3, 255, 0, 0, 0, 0, 200, 100, 50, 255]);
  });

  test("folds ranks into columns without losing the one that differs", () => {
    const row = [5, 5, 5, 0, 5, null, 5, 9];
    expect(folded(row, 4)).toEqual([5, 0, 5, 9]);
    expect(folded(row, 8)).toEqual(row);
    expect(folded([null, null], 1)).toEqual([null]);
  });

  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[null, 7], 7],
    [[], 0],
  ])("the median of %j is %d", (values, median) => {
    expect(medianOf(values)).toBe(median);
  });

  test.each([
    [0, 0, { step: 0, rank: 0 }],
    [0.999, 0.999, { step: 4, rank: 7 }],
    [0.5, 0.2, { step: 1, rank: 4 }],
    [1, 0.5, null],
    [-0.1, 0.5, null],
  ])("at %d, %d is the cell %j", (x, y, cell) => {
    expect(cellAt(x, y, 5, 8)).toEqual(cell);
  });

  test.each([
    ["ArrowRight", { step: 1, rank: 4 }],
    ["ArrowUp", { step: 0, rank: 3 }],
    ["PageDown", { step: 1, rank: 7 }],
    ["Home", { step: 1, rank: 0 }],
    ["End", { step: 1, rank: 7 }],
    ["x", null],
  ])("the key %s leads to %j", (key, cell) => {
    expect(moved({ step: 1, rank: 3 }, key, 5, 8)).toEqual(cell);
  });

  test("writes as many ranks as there is room for", () => {
    expect(ticks(8, 20)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(ticks(64, 20)).toHaveLength(16);
    expect(ticks(1024, 20)).toHaveLength(16);
    expect(ticks(50_000, 20)).toHaveLength(20);
  });
});

const KIND: CollectiveKind = {
  id: 0,
  name: "all_reduce",
  count: 3,
  bytes: null,
  transfer_us: 30,
  wait_us: 3,
  transfers: [0, 2, 1, 0],
  waits: [0, 0, 3, 0],
};

test("bins of collectives are those of a kind, or of all, without empty ends", () => {
  const other = { ...KIND, name: "send", transfers: [1, 0, 0, 0], waits: [0, 0, 0, 0] };
  const edges = [1, 10, 100, 1000, 10_000];
  expect(binsOf([KIND, other], edges, "all_reduce")).toEqual([
    { from: 10, to: 100, transfers: 2, waits: 0 },
    { from: 100, to: 1000, transfers: 1, waits: 3 },
  ]);
  expect(binsOf([KIND, other], edges, null).map(({ transfers }) => transfers)).toEqual([1, 2, 1]);
  expect(binsOf([], edges, null)).toEqual([]);
});

test("a logarithmic axis holds whole decades", () => {
  expect(decades([3, 4000])).toEqual({ from: 0, to: 4 });
  expect(decades([10])).toEqual({ from: 1, to: 2 });
  expect(decades([])).toEqual({ from: 0, to: 1 });
  expect(along(100, { from: 0, to: 4 })).toBe(0.5);
});

test("the place that computes longest, over the mean", () => {
  expect(imbalanceOf([10, null, 30, 20])).toEqual({ place: 2, us: 30, ratio: 1.5 });
  expect(imbalanceOf([null])).toBeNull();
});

test("a moment of a rank is in the timeline of its worker, counted from its own start", () => {
  const run = { workers: ["a", "b"], start_us: [1000, 5000] };
  const place = timelineOf(run, 1, 5600, 60);
  expect(place).toMatchObject({ view: "timeline", worker: "b", trace: null, step: null });
  expect(place.range).toEqual({ from: 600, to: 660 });
  expect(moduleOf(run, 0, "")).toMatchObject({ view: "modules", worker: "a", module: "" });
});

test.each<RanksPlace>([
  RANKS.start,
  {
    heat: "compute",
    offset: 64,
    rank: 1023,
    at: "ProfilerStep#5",
    list: "balance",
    kind: "",
    page: 3,
    collective: 0,
    together: true,
    others: 15,
  },
])("an address says the whole place %o", (place) => {
  const query = new URLSearchParams();
  RANKS.write(place, query);
  expect(RANKS.read(query)).toEqual(place);
});

test("an address with wrong values is at the defaults", () => {
  const query = new URLSearchParams("heat=x&firststep=-4&rank=1e3&ranks=all&rankpage=a");
  expect(RANKS.read(query)).toEqual(RANKS.start);
});
