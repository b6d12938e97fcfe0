import { expect, test } from "vitest";

import type { Amount, CallRow, CallsOverTime, ModuleDetail } from "../../../api/schema";
import { module, work } from "../../../testing/report";
import { shapeText } from "./ModuleFacts";
import {
  backwardInTimeline,
  callBars,
  forwardInTimeline,
  kernelRows,
  kindRows,
  nodeRows,
  tensorCoreShare,
} from "./moduleDetail";

const amount = (us: number, selfUs = us): Amount => ({
  count: us > 0 ? 1 : 0,
  device_us: us,
  self_count: selfUs > 0 ? 1 : 0,
  self_device_us: selfUs,
});

const kernel = (name: string, forward: number, backward: number, self = backward): unknown => ({
  name,
  kind: "matrix",
  event: "kernel",
  tensor_core: null,
  forward: amount(forward),
  backward: amount(backward, self),
  recompute: amount(0),
});

const call = (start: number, rest: Partial<CallRow> = {}): CallRow => ({
  id: start,
  calls: 1,
  start_us: start,
  duration_us: 10,
  forward_host_us: 10,
  forward_compute_us: 4,
  backward_host_us: 20,
  backward_compute_us: 8,
  communication_us: 0,
  backward_start_us: start + 50,
  backward_duration_us: 30,
  ...rest,
});

const calls = (rows: CallRow[]): CallsOverTime => ({
  count: rows.reduce((sum, row) => sum + row.calls, 0),
  binned: false,
  rows,
  unplaced: {
    forward_host_us: 0,
    forward_compute_us: 0,
    backward_host_us: 0,
    backward_compute_us: 0,
    communication_us: 0,
  },
  slowest: {},
});

const detail = {
  kernels: [kernel("a", 9, 2), kernel("b", 0, 6, 0), kernel("c", 1, 0)],
  kernels_omitted: { names: 2, forward: amount(0), backward: amount(2, 2), recompute: amount(0) },
} as unknown as ModuleDetail;

test("kernels of a side, most expensive first, their share of all with what is left out", () => {
  const rows = (side: "forward" | "backward", scope: "self" | "below"): unknown =>
    kernelRows(detail, side, scope).map((row) => [row.kernel.name, row.us, row.share]);
  expect(rows("backward", "below")).toEqual([
    ["b", 6, 0.6],
    ["a", 2, 0.2],
  ]);
  expect(rows("backward", "self")).toEqual([["a", 2, 0.5]]);
  expect(rows("forward", "below")).toEqual([
    ["a", 9, 0.9],
    ["c", 1, 0.1],
  ]);
});

test("nodes of the module alone leave out those of the modules below", () => {
  const node = (name: string, host: number, self: number): Parameters<typeof nodeRows>[0][0] => ({
    id: host,
    name,
    count: 2,
    host_us: host,
    device_us: null,
    self_count: self > 0 ? 1 : 0,
    self_host_us: self,
    self_device_us: null,
  });
  const nodes = [node("Mm", 5, 0), node("Add", 7, 3)];
  expect(nodeRows(nodes, "below").map((row) => row.name)).toEqual(["Add", "Mm"]);
  expect(nodeRows(nodes, "self")).toEqual([{ name: "Add", count: 1, host: 3, device: null }]);
});

test("kinds of work of both directions, most expensive first", () => {
  const given = module("a", null, {
    forward: { ...work(3), by_kind: { matrix: 1, copy: 2 } },
    backward: { ...work(5), by_kind: { matrix: 5 } },
  });
  expect(kindRows(given)).toEqual([
    { kind: "matrix", forward: 1, backward: 5 },
    { kind: "copy", forward: 2, backward: 0 },
  ]);
  expect(kindRows(module("a", null, { forward: work(null), backward: work(null) }))).toEqual([]);
});

test("the share on tensor cores is of the device's time", () => {
  expect(tensorCoreShare({ ...work(8), tensor_core_us: 2 })).toBe(0.25);
  expect(tensorCoreShare(work(0))).toBeNull();
  expect(tensorCoreShare(work(null))).toBeNull();
});

test("bars are to one scale; a bin is the mean of its calls", () => {
  const rows = [call(0), call(100, { calls: 3, backward_compute_us: 12, forward_compute_us: 6 })];
  const bars = callBars(calls(rows), "device");
  expect(bars.map(({ first, last }) => [first, last])).toEqual([
    [1, 1],
    [2, 4],
  ]);
  expect(bars.map(({ forward, backward }) => [forward, backward])).toEqual([
    [0.5, 1],
    [0.25, 0.5],
  ]);
});

test("calls lead into the timeline, a backward that never ran does not", () => {
  const traced = { trace: { start_us: 1000 } } as Parameters<typeof forwardInTimeline>[0];
  expect(forwardInTimeline(traced, call(1200)).range).toEqual({ from: 200, to: 210 });
  expect(backwardInTimeline(traced, call(1200))?.range).toEqual({ from: 250, to: 280 });
  expect(backwardInTimeline(traced, call(0, { backward_start_us: null }))).toBeNull();
});

test.each([
  [[[8, 16], [], [4]], "[8×16] [4]"],
  [[[], []], "no tensor"],
  [
    [
      [
        [2, 3],
        [4, 5],
      ],
      [],
    ],
    "([2×3] [4×5])",
  ],
])("shapes of %j", (dims, text) => {
  expect(shapeText(dims)).toBe(text);
});
