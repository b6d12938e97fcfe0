import { expect, test } from "vitest";

import type { History, SlowSteps, WatchedRecording } from "../../api/schema";
import {
  areaPath,
  layers,
  linePath,
  longerText,
  moduleOfBlock,
  pointsOf,
  stepsText,
  whenText,
} from "./model";

const recording = (start: number, rank: number, kept = true): WatchedRecording => ({
  id: start * 10 + rank,
  rank,
  file: `rank${rank}.${start}.pt.trace.json.gz`,
  worker: `rank${rank}`,
  kept,
  start,
  steps: 3,
  reason: "slow",
  asked_by: 0,
  ratio: 2,
});

test("a line is broken where a value is unknown", () => {
  expect(linePath([0, 1, 2, 3], [1, null, 2, 3], (us) => us)).toBe("M0.0,1.0M2.0,2.0L3.0,3.0");
});

test("an area leaves out what is unknown", () => {
  expect(areaPath([0, 1, 2], [0, null, 0], [1, 2, 3], (us) => us)).toBe(
    "M0.0,1.0L2.0,3.0L2.0,0.0L0.0,0.0Z",
  );
  expect(areaPath([0], [null], [1], (us) => us)).toBe("");
});

test("layers lie one upon another", () => {
  const [first, second] = layers({ a: [1, null], b: [2, 3] });
  expect(first?.high).toEqual([1, 0]);
  expect(second?.low).toEqual([1, 0]);
  expect(second?.high).toEqual([3, 3]);
});

test("where no layer is known there is nothing to lie upon", () => {
  const [first, second] = layers({ a: [1, null], b: [null, null] });
  expect(first?.low).toEqual([0, null]);
  expect(second?.high).toEqual([1, null]);
});

test("where the phases are unknown there is a gap, though loading is known", () => {
  const [data, other] = layers({ data: [1, 1], other: [2, null] });
  expect([data?.high, other?.high]).toEqual([
    [1, null],
    [3, null],
  ]);
});

test("a recording is one point, whatever number of ranks made it", () => {
  expect(pointsOf([recording(10, 0, false), recording(10, 1)]).map(({ id }) => id)).toEqual([101]);
});

test("a block of neighbours leads to the first of them", () => {
  expect(moduleOfBlock("h.0..h.3")).toBe("h.0");
  expect(stepsText({ first: 3, last: 3 })).toBe("3");
  expect(stepsText({ first: 3, last: 5 })).toBe("3–5");
});

test("a rise that lasts to the end says since when, and by how much", () => {
  const history = { last_step: 1000 } as History;
  const slow = { first: 400, last: 997, lasting: true, step_us: 124, median_us: 100 } as SlowSteps;
  expect(whenText(slow, history)).toBe("since 400");
  expect(whenText({ ...slow, last: 900 }, history)).toBe("400–900");
  expect(whenText({ ...slow, lasting: false }, history)).toBe("400–997");
  expect(longerText(slow)).toBe("+24.0%");
});
