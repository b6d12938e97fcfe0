import { expect, test } from "vitest";

import { laneOf } from "../testing";
import {
  heightOf,
  laneAt,
  layoutLanes,
  nextOpening,
  opened,
  openingsOf,
  rowTop,
  SHORT_ROWS,
  type Opening,
} from "./lanes";

const lanes = [
  laneOf("steps", { kind: "steps", depth: 2 }),
  laneOf("deep", { depth: 40 }),
  laneOf("one", { kind: "idle", depth: 1 }),
  laneOf("none", { depth: 0 }),
];

test("lanes follow each other without gap, and a deep one is folded", () => {
  const boxes = layoutLanes(lanes, new Map());
  boxes.forEach((box, index) => {
    expect(box.top).toBe(heightOf(boxes.slice(0, index)));
  });
  expect(boxes.map(({ rows }) => rows)).toEqual([2, 1, 1, 1]);
});

test("a lane's button goes through all that it can show", () => {
  const deep = lanes[1] ?? laneOf("");
  const seen: Opening[] = [];
  for (let now: Opening = "folded"; seen.length < 3; now = nextOpening(deep, now)) seen.push(now);
  expect(seen).toEqual(["folded", "short", "whole"]);
  expect(openingsOf(lanes[2] ?? deep)).toEqual(["whole"]);
  const rows = (opening: Opening): number | undefined =>
    layoutLanes([deep], new Map([["deep", opening]]))[0]?.rows;
  expect([rows("folded"), rows("short"), rows("whole")]).toEqual([1, SHORT_ROWS, 40]);
});

test("every height is of the lane and row that is drawn there", () => {
  const boxes = layoutLanes(lanes, new Map([["deep", "whole"]]));
  for (let y = 0; y < heightOf(boxes); y++) {
    const found = laneAt(boxes, y);
    expect(found).not.toBeNull();
    if (found === null || found.depth < 0) continue;
    const top = rowTop(found.box, found.depth);
    expect(y).toBeGreaterThanOrEqual(top);
    expect(y).toBeLessThan(top + found.box.rowHeight);
  }
  expect(laneAt(boxes, -1)).toBeNull();
  expect(laneAt(boxes, heightOf(boxes))).toBeNull();
});

test("a row that is not on show is below those that are", () => {
  const box = layoutLanes(lanes, new Map())[1];
  expect(box && rowTop(box, 30)).toBe(box && box.rowsTop + box.rows * box.rowHeight);
});

test("a lane is opened for a row that is not on show, and only then", () => {
  const chosen = new Map<string, Opening>();
  const boxes = layoutLanes(lanes, chosen);
  expect(opened(boxes, chosen, "deep", 0)).toBe(chosen);
  expect(opened(boxes, chosen, "gone", 3)).toBe(chosen);
  expect(opened(boxes, chosen, "deep", 3).get("deep")).toBe("short");
  expect(opened(boxes, chosen, "deep", 30).get("deep")).toBe("whole");
});
