import { expect, test } from "vitest";

import type {
  LaneBlocks,
  Sync,
  TimelineLane,
  TimelineOverview,
  TimelineWindow,
} from "../api/schema";
import { sync as made } from "../testing/report";
import {
  laneIds,
  syncTimelineLanes,
  syncTimelineOf,
  syncTimelineSpan,
  type SyncTimelineData,
} from "./syncTimeline";
import type { SyncRow } from "./syncs";

const lane = (
  id: string,
  kind: TimelineLane["kind"],
  rest: Partial<TimelineLane> = {},
): TimelineLane => ({
  id,
  kind,
  group: "Device 0",
  title: "",
  subtitle: "",
  note: null,
  depth: 1,
  events: 1,
  thread: null,
  thread_id: null,
  device: "0",
  stream: null,
  stream_id: null,
  ...rest,
});

const timeline: TimelineOverview = {
  start_us: 1000,
  duration_us: 200,
  events: 10,
  lanes: [
    lane("1", "forward"),
    lane("2", "host", { device: null, thread_id: 1, depth: 6 }),
    lane("3", "host", { device: null, thread_id: 11 }),
    lane("4", "host", { device: null, thread_id: 2 }),
    lane("5", "device", { subtitle: "stream 7" }),
    lane("6", "device", { subtitle: "stream 8" }),
    lane("7", "device", { device: "1", subtitle: "stream 7" }),
    lane("8", "idle"),
    lane("9", "idle", { device: "1" }),
  ],
  minimap: { start: [], duration: [], colour: [] },
  colours: ["forward", "wait", "idle"],
};

const FORWARD = 0;
const WAIT = 1;
const IDLE = 2;

type Block = [start: number, duration: number, depth: number, colour: number];

function blocks(id: string, list: Block[]): LaneBlocks {
  return {
    id,
    start: list.map(([start]) => start),
    duration: list.map(([, duration]) => duration),
    depth: list.map(([, , depth]) => depth),
    name: list.map(() => 0),
    colour: list.map(([, , , colour]) => colour),
    count: list.map(() => 1),
    event: list.map(() => 1),
  };
}

const waited: Sync["waited_for"] = {
  event_id: 1,
  name: "gemm",
  device: "0",
  device_id: "0",
  stream: "7",
  stream_id: 7,
  duration_us: 30,
};

/** A sync of 40 us, 60 us into the trace. */
const row = (rest: Partial<Sync> = {}): SyncRow => ({
  id: "1060",
  start: 60,
  sync: made({
    start_us: 1060,
    duration_us: 40,
    thread_id: 1,
    waited_for: waited,
    device_idle_us: 20,
    ...rest,
  }),
});

function picture(lanes: LaneBlocks[], of: SyncRow = row()): SyncTimelineData {
  const window: TimelineWindow = {
    start: 50,
    end: 150,
    width: 100,
    names: ["a"],
    lanes,
    curves: [],
  };
  return syncTimelineOf(of, timeline, syncTimelineLanes(timeline, of.sync), window);
}

test("the lanes of a sync are its thread's, and its device's streams and idle time", () => {
  expect(laneIds(syncTimelineLanes(timeline, row().sync))).toEqual(["2", "5", "6", "8"]);
  expect(laneIds(syncTimelineLanes(timeline, made({ thread_id: 2, waited_for: null })))).toEqual([
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
  ]);
});

test("what is around a sync is shown, and all of the idle time after it", () => {
  expect(syncTimelineSpan(row())).toEqual({ from: 50, to: 130 });
  expect(syncTimelineSpan(row({ device_idle_us: null }))).toEqual({ from: 50, to: 110 });
  expect(syncTimelineSpan(row({ duration_us: 0, device_idle_us: 0 }))).toEqual({
    from: 59,
    to: 61,
  });
});

test("the host's rows are those around the call, blocks cut at the edges", () => {
  const { host, sync } = picture([
    blocks("2", [
      [0, 300, 0, FORWARD],
      [10, 200, 1, FORWARD],
      [55, 60, 2, FORWARD],
      [58, 50, 3, FORWARD],
      [59, 45, 4, FORWARD],
      [60, 40, 5, WAIT],
      [120, 10, 2, FORWARD],
    ]),
  ]);
  expect(host?.rows).toBe(4);
  expect(host?.blocks.map((block) => [block.row, block.colour])).toEqual([
    [0, "forward"],
    [1, "forward"],
    [2, "forward"],
    [3, "wait"],
    [0, "forward"],
  ]);
  expect(sync.from).toBeCloseTo(0.1);
  expect(sync.width).toBeCloseTo(0.4);
  const whole = picture([blocks("2", [[0, 300, 0, WAIT]])]).host?.blocks[0];
  expect([whole?.from, whole?.width]).toEqual([0, 1]);
});

test("the colours that are in the picture are listed, but for the sync's own", () => {
  const { colours } = picture([
    blocks("2", [[60, 40, 0, WAIT]]),
    blocks("5", [
      [50, 5, 0, IDLE],
      [55, 5, 2, FORWARD],
    ]),
  ]);
  expect(colours).toEqual(["forward", "idle"]);
});

test("a stream has as many rows as are in sight", () => {
  const { streams } = picture([
    blocks("5", [[55, 5, 2, FORWARD]]),
    blocks("6", [[55, 5, 0, IDLE]]),
  ]);
  expect(streams.map(({ rows }) => rows)).toEqual([3, 1]);
});

test("streams without work then are not drawn", () => {
  const { streams } = picture([blocks("5", [[50, 30, 0, FORWARD]]), blocks("6", [])]);
  expect(streams.map(({ title }) => title)).toEqual(["stream 7"]);
});

test("the gap is the idle time of syncs from this one's start on, as much as it caused", () => {
  const idle = blocks("8", [
    [50, 5, 0, WAIT],
    [80, 5, 0, IDLE],
    [90, 20, 0, WAIT],
    [130, 5, 0, WAIT],
  ]);
  expect(picture([idle]).gaps.map(({ from }) => from)).toEqual([expect.closeTo(0.4)]);
  const longer = picture([idle], row({ device_idle_us: 25 })).gaps;
  expect(longer.map(({ from }) => from)).toEqual([expect.closeTo(0.4), expect.closeTo(0.8)]);
  expect(picture([idle], row({ device_idle_us: 0 })).gaps).toEqual([]);
  expect(picture([idle], row({ device_idle_us: null })).gaps).toEqual([]);
});

test("of many streams the busiest are drawn, the others counted", () => {
  const many: TimelineOverview = {
    ...timeline,
    lanes: Array.from({ length: 6 }, (_, at) => lane(`${at}`, "device", { subtitle: `s${at}` })),
  };
  const window: TimelineWindow = {
    start: 50,
    end: 150,
    width: 100,
    names: ["a"],
    lanes: many.lanes.map(({ id }, at) => blocks(id, [[60, at + 1, 0, FORWARD]])),
    curves: [],
  };
  const data = syncTimelineOf(row(), many, syncTimelineLanes(many, row().sync), window);
  expect(data.streams.map(({ title }) => title)).toEqual(["s2", "s3", "s4", "s5"]);
  expect(data.moreStreams).toBe(2);
  expect(data.host).toBeNull();
});
