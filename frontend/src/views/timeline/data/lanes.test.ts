import { expect, test } from "vitest";

import { laneOf } from "../testing";
import { LANES, type LanesPlace, type Opening } from "../address";
import {
  arrange,
  heightOf,
  laneAt,
  layoutLanes,
  moved,
  nextOpening,
  opened,
  openingsOf,
  pinnedHeight,
  rowTop,
  scrolled,
  SHORT_ROWS,
} from "./lanes";

const open = (openings: ReadonlyMap<string, Opening>): LanesPlace => ({ ...LANES.start, openings });

const lanes = [
  laneOf("steps", { kind: "steps", depth: 2 }),
  laneOf("deep", { depth: 40 }),
  laneOf("one", { kind: "idle", depth: 1 }),
  laneOf("none", { depth: 0 }),
];

test("lanes follow each other without gap, and a deep one is folded", () => {
  const boxes = layoutLanes(lanes, open(new Map()));
  boxes.forEach((box, index) => {
    expect(box.top).toBe(heightOf(boxes.slice(0, index)));
  });
  expect(boxes.map(({ rows }) => rows)).toEqual([2, 1, 1, 1]);
});

test("the operators of the main thread are open a part at first, its Python frames folded", () => {
  const main = laneOf("main", { title: "main thread", subtitle: "7", depth: 40 });
  const frames = { ...main, id: "frames", subtitle: "Python stack, 7" };
  expect(layoutLanes([main, frames], LANES.start).map(({ rows }) => rows)).toEqual([SHORT_ROWS, 1]);
});

test("a filter leaves lanes whose names hold it, and pinned ones", () => {
  const named = [
    laneOf("a", { title: "main thread" }),
    laneOf("b", { title: "stream 7", group: "Device 0" }),
    laneOf("c", { title: "memory" }),
  ];
  const place = { ...LANES.start, filter: "DEVICE", pinned: ["c"] };
  expect(arrange(named, place).map(({ id }) => id)).toEqual(["c", "b"]);
});

test("a lane's button goes through all that it can show", () => {
  const deep = lanes[1] ?? laneOf("");
  const seen: Opening[] = [];
  for (let now: Opening = "folded"; seen.length < 3; now = nextOpening(deep, now)) seen.push(now);
  expect(seen).toEqual(["folded", "short", "whole"]);
  expect(openingsOf(lanes[2] ?? deep)).toEqual(["whole"]);
  const rows = (opening: Opening): number | undefined =>
    layoutLanes([deep], open(new Map([["deep", opening]])))[0]?.rows;
  expect([rows("folded"), rows("short"), rows("whole")]).toEqual([1, SHORT_ROWS, 40]);
});

test("every height is of the lane and row that is drawn there", () => {
  const boxes = layoutLanes(lanes, open(new Map([["deep", "whole"]])));
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
  const box = layoutLanes(lanes, open(new Map()))[1];
  expect(box && rowTop(box, 30)).toBe(box && box.rowsTop + box.rows * box.rowHeight);
});

test("a lane is opened for a row that is not on show, and only then", () => {
  const chosen = new Map<string, Opening>();
  const boxes = layoutLanes(lanes, open(chosen));
  expect(opened(boxes, chosen, "deep", 0)).toBe(chosen);
  expect(opened(boxes, chosen, "gone", 3)).toBe(chosen);
  expect(opened(boxes, chosen, "deep", 3).get("deep")).toBe("short");
  expect(opened(boxes, chosen, "deep", 30).get("deep")).toBe("whole");
});

const ids = (boxes: readonly { lane: { id: string } }[]): string =>
  boxes.map(({ lane }) => lane.id).join(" ");

test("pinned lanes come first, then the order, then what it does not know", () => {
  const place = { ...LANES.start, pinned: ["one"], order: ["none", "deep", "one"] };
  expect(arrange(lanes, place).map(({ id }) => id)).toEqual(["one", "none", "deep", "steps"]);
  expect(arrange(lanes, LANES.start)).toEqual(lanes);
});

test("a lane moves past its neighbour, and never between pinned ones and others", () => {
  const boxes = layoutLanes(lanes, { ...LANES.start, pinned: ["one"] });
  expect(ids(boxes)).toBe("one steps deep none");
  expect(moved(boxes, "deep", -1).join(" ")).toBe("one deep steps none");
  expect(moved(boxes, "deep", 1).join(" ")).toBe("one steps none deep");
  for (const [id, by] of [
    ["steps", -1],
    ["one", 1],
    ["none", 1],
    ["gone", 1],
  ] as const) {
    expect(moved(boxes, id, by).join(" ")).toBe("one steps deep none");
  }
});

test("pinned lanes stay in sight, and what is under them is not pointed at", () => {
  const boxes = layoutLanes(lanes, { ...LANES.start, pinned: ["none"] });
  const height = pinnedHeight(boxes);
  expect(height).toBe(boxes[0]?.height);
  const scroll = 60;
  const there = scrolled(boxes, scroll);
  expect(laneAt(there, scroll + 1)?.box.lane.id).toBe("none");
  expect(laneAt(there, scroll + height)?.box.lane.id).toBe(
    laneAt(boxes, scroll + height)?.box.lane.id,
  );
  expect(scrolled(layoutLanes(lanes, LANES.start), scroll)).toEqual(
    layoutLanes(lanes, LANES.start),
  );
});
