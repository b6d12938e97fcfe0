import { expect, test } from "vitest";

import { LANES } from "../address";
import { laneOf, windowOf } from "../testing";
import { tileFrom } from "./blocks";
import { blockAt, eventNextTo } from "./hits";
import { layoutLanes, rowTop } from "./lanes";

const tile = tileFrom(
  windowOf({
    host: [
      { start: 0, duration: 50, depth: 0, name: "outer", event: 1 },
      { start: 60, duration: 30, depth: 0, name: "later", event: 2 },
      { start: 2, duration: 6, depth: 1, name: "first", event: 3 },
      { start: 8, duration: 4, depth: 1, name: "many", event: -1, count: 40 },
      { start: 30, duration: 6, depth: 1, name: "last", event: 4 },
    ],
    device: [{ start: 33, duration: 20, depth: 0, name: "kernel", event: 5 }],
  }),
);
const boxes = layoutLanes(
  [laneOf("host", { depth: 2 }), laneOf("device", { kind: "device", depth: 1 })],
  LANES.start,
);
// The same tile twice, as it stands for two that are missing.
const pieces = [
  { tile, clip: { from: 0, to: 32 } },
  { tile, clip: { from: 32, to: 100 } },
];

const at = (lane: number, depth: number, time: number, slack = 0): string | null | undefined => {
  const box = boxes[lane];
  if (box === undefined) throw new Error("no lane");
  return blockAt(pieces, boxes, time, rowTop(box, depth) + 1, slack)?.name;
};

test("what is pointed at", () => {
  expect(at(0, 0, 20)).toBe("outer");
  expect(at(0, 1, 5)).toBe("first");
  expect(at(0, 1, 20)).toBeUndefined();
  expect(at(1, 0, 34)).toBe("kernel");
  expect(at(1, 0, 32.5)).toBeUndefined();
  expect(at(1, 0, 31.5, 2)).toBe("kernel");
  expect(blockAt(pieces, boxes, 20, -5, 0)).toBeNull();
});

test("a merged block says how many events it holds", () => {
  const box = boxes[0];
  const block = box && blockAt(pieces, boxes, 9, rowTop(box, 1) + 1, 0);
  expect(block).toMatchObject({ count: 40, event: null });
});

test("from event to event by direction", () => {
  const from = { lane: "host", depth: 1, span: { from: 2, to: 8 } };
  const nextTo = (direction: Parameters<typeof eventNextTo>[3]): string | null | undefined =>
    eventNextTo(pieces, boxes, from, direction)?.name;
  expect(nextTo("next")).toBe("last");
  expect(nextTo("previous")).toBeUndefined();
  expect(nextTo("above")).toBe("outer");
  expect(nextTo("below")).toBe("kernel");
});
