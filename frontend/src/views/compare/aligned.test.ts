import { expect, test } from "vitest";

import type { LaneBlocks, TimelineLane } from "../../api/schema";
import { report, step } from "../../testing/report";
import {
  alignedRows,
  blockAt,
  differing,
  lanesOf,
  medianStep,
  onlyHost,
  type SideLanes,
} from "./aligned";
import { comparison, moduleChange, pair } from "./testing";

function lane(
  id: string,
  kind: TimelineLane["kind"],
  rest: Partial<TimelineLane> = {},
): TimelineLane {
  const on = { thread: null, thread_id: null, device: null, stream: null, stream_id: null };
  return {
    ...{ id, kind, group: "", title: "", subtitle: "", depth: 1, events: 1, note: null },
    ...on,
    ...rest,
  };
}

/** Blocks of a lane: depth, start and length of each. */
function blocks(id: string, ...all: [depth: number, start: number, us: number][]): LaneBlocks {
  return {
    id,
    start: all.map(([, start]) => start),
    duration: all.map(([, , us]) => us),
    depth: all.map(([depth]) => depth),
    name: all.map((_, at) => at),
    colour: all.map(() => 0),
    count: all.map(() => 1),
    event: all.map((_, at) => at),
  };
}

test("the median step is one of those that are compared, from the start of the timeline", () => {
  const steps = [
    step("1", { start_us: 1000, duration_us: 900 }),
    step("2", { start_us: 2000, duration_us: 300 }),
    step("3", { start_us: 3000, duration_us: 500 }),
    step("4", { start_us: 4000, duration_us: 400 }),
  ];
  const of = report({ steps });
  const begin = of.trace.start_us;
  expect(medianStep(of, ["2", "3", "4"])).toEqual({ name: "4", from: 4000 - begin, length: 400 });
  expect(medianStep(of, ["1"])).toEqual({ name: "1", from: 1000 - begin, length: 900 });
  expect(medianStep(report({ steps: [] }), []).name).toBeNull();
});

test("the host is drawn where neither side has modules or a device", () => {
  const threads = [
    lane("1", "host", { thread: "a", events: 5 }),
    lane("2", "host", { thread: "b", events: 9 }),
  ];
  const modules = [lane("0", "steps"), lane("3", "forward"), ...threads];
  expect(onlyHost(threads)).toBe(true);
  expect(onlyHost(modules)).toBe(false);
  expect(lanesOf(modules, false).map(({ id }) => id)).toEqual(["0", "3"]);
  expect(lanesOf(threads, true).map(({ id }) => id)).toEqual(["2"]);
});

test("a kind has the same depths on both sides, from the first that holds several blocks", () => {
  const lanes = [lane("f", "forward")];
  const base: SideLanes = {
    lanes,
    // The second block of depth 0 is of the step that follows.
    blocks: [blocks("f", [0, 0, 90], [0, 100, 90], [1, 0, 40], [2, 0, 10], [2, 20, 10])],
    end: 100,
  };
  const other: SideLanes = {
    lanes,
    blocks: [blocks("f", [0, 0, 90], [1, 0, 40], [1, 50, 30], [2, 0, 10])],
    end: 100,
  };
  const rows = alignedRows({ base, other });
  expect(rows.map(({ side, depth, place }) => [side, depth, place])).toEqual([
    ["base", 1, 0],
    ["base", 2, 1],
    ["other", 1, 0],
    ["other", 2, 1],
  ]);
});

test("the two busiest streams of a device are rows, above those of the other side", () => {
  const lanes = ["a", "b", "c"].map((id) => lane(id, "device"));
  const side: SideLanes = {
    lanes,
    blocks: [blocks("a", [0, 0, 5]), blocks("b", [0, 0, 90]), blocks("c", [0, 0, 50])],
    end: 100,
  };
  const rows = alignedRows({ base: side, other: { lanes: [], blocks: [], end: 100 } });
  expect(rows.map(({ lane: id }) => id)).toEqual(["b", "c"]);
});

test("at a time, the shortest block of a depth that holds it", () => {
  const of = blocks("f", [0, 0, 100], [1, 10, 20], [1, 12, 4]);
  const names = ["root", "a", "b"];
  expect(blockAt(of, names, 1, 13)?.name).toBe("b");
  expect(blockAt(of, names, 1, 25)).toEqual({ name: "a", events: 1, from: 10, length: 20 });
  expect(blockAt(of, names, 1, 50)).toBeNull();
});

test("modules differ by a hundredth of the step, with those below them", () => {
  const changed = comparison({
    modules: [
      moduleChange("body.a", pair(10, 30)),
      moduleChange("body.b", pair(30, 25)),
      moduleChange("body.c", pair(10, 10.5)),
      moduleChange("old", pair(7, null), { status: "vanished", other_path: null }),
      moduleChange("unnamed", pair(null, 40), { status: "unknown", base_path: null }),
    ],
  });
  const rows = (side: "base" | "other"): [string, string | null, number][] =>
    [...differing(changed, side)].map(([name, { row, change }]) => [name, row, change]);
  expect(rows("other")).toEqual([
    ["body", null, 15.5],
    ["body.a", "body.a", 20],
    ["body.b", "body.b", -5],
  ]);
  expect(rows("base").at(-1)).toEqual(["old", "old", -7]);
});
