import { expect, test } from "vitest";

import { legendOf } from "./ColourLegend";

const lane = (kind: "steps" | "idle" | "path", note: string | null = null) => ({ kind, note });

const titles = (...lanes: ReturnType<typeof lane>[]): string[] =>
  legendOf({ lanes }).map(({ title }) => title);

test("only what the lanes show is in the legend", () => {
  expect(titles(lane("steps"), lane("path"), lane("idle"))).toEqual([
    "phases",
    "idle time",
    "critical path",
  ]);
  expect(titles(lane("steps"))).toEqual(["phases"]);
  expect(titles()).toEqual([]);
});

test("a critical path that could not be found has no colours", () => {
  expect(titles(lane("path", "launches of 0% are known"))).toEqual([]);
});

test("a colour stands for one thing in a group", () => {
  for (const { entries } of legendOf({ lanes: [lane("steps"), lane("idle"), lane("path")] })) {
    expect(new Set(entries.map(({ colour }) => colour)).size).toBe(entries.length);
  }
});
