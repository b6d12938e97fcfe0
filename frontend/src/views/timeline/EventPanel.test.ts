import { expect, test } from "vitest";

import type { EventLink } from "../../api/schema";
import { argumentRows, laneText, linkGroups } from "./EventPanel";
import { laneOf } from "./testing";

test("arguments are texts, and no longer than can be read", () => {
  const rows = argumentRows({ stream: 7, dims: [[2, 3]], name: "x", long: "k".repeat(10_000) });
  expect(rows.slice(0, 3)).toEqual([
    ["stream", "7"],
    ["dims", "[[2,3]]"],
    ["name", "x"],
  ]);
  expect(rows[3]?.[1].length).toBeLessThan(500);
});

test("a lane by its name", () => {
  const lanes = [
    laneOf("1", { group: "Modules", title: "forward" }),
    laneOf("2", { title: "main thread", subtitle: "python 4" }),
  ];
  expect(laneText(lanes, "1")).toBe("Modules forward");
  expect(laneText(lanes, "2")).toBe("main thread, python 4");
  expect(laneText(lanes, "3")).toBe("no lane");
});

test("links are grouped by what they mean", () => {
  const link = (relation: EventLink["relation"], id: number): EventLink => ({
    relation,
    kind: relation === "launches" ? "launch" : null,
    evidence: relation === "launches" ? "correlation id" : null,
    id,
    lane: "1",
    depth: 0,
    name: "k",
    colour: 0,
    start: 0,
    duration: 1,
  });
  const groups = linkGroups([link("launches", 1), link("forward of", 2), link("launches", 3)]);
  expect(groups.map(([relation, links]) => [relation, links.map(({ id }) => id)])).toEqual([
    ["launches (launch, by correlation id)", [1, 3]],
    ["forward of", [2]],
  ]);
});
