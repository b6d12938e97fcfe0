import { expect, test } from "vitest";

import { report, sync } from "../testing/report";
import {
  avoidable,
  isHighlighted,
  filterSyncs,
  knownBlocked,
  stepTally,
  summarizeSyncs,
  syncRows,
  tally,
} from "./syncs";

const all = syncRows(
  report({
    syncs: [
      sync({ start_us: 1010, duration_us: 5, phase: "forward" }),
      sync({ start_us: 1030, duration_us: 50, cause: "blocking-copy", device_idle_us: null }),
      sync({ start_us: 1030, duration_us: 1, module: null, stack: ["train.py(7): step"] }),
    ],
  }),
);
const ids = (rows: typeof all): string[] => rows.map((row) => row.id);
const anything = { search: "", phase: null, cause: null };

test("ids are those of the report, starts count from the trace's", () => {
  expect(ids(all)).toEqual(["0", "1", "2"]);
  expect(all.map((row) => row.start)).toEqual([10, 30, 30]);
});

test("search and filters narrow together", () => {
  expect(ids(filterSyncs(all, { ...anything, phase: "forward" }))).toEqual(["0"]);
  expect(ids(filterSyncs(all, { ...anything, search: "TRAIN.py" }))).toEqual(["2"]);
  expect(ids(filterSyncs(all, { search: "head", phase: "backward", cause: null }))).toEqual(["1"]);
});

test("values are counted for the filters, most frequent first", () => {
  expect(tally(all, "phase")).toEqual([
    ["backward", 2],
    ["forward", 1],
  ]);
});

test("sums know nothing of an idle time that no call has", () => {
  expect(summarizeSyncs(all.map((row) => row.sync))).toEqual({
    blocked: 56,
    idle: 4,
    longest: 50,
    backward: 2,
  });
  expect(summarizeSyncs([sync({ device_idle_us: null })]).idle).toBeNull();
});

test("crimson is for avoidable syncs of a hundredth of the step", () => {
  expect(avoidable([sync(), sync({ cause: "profiler" })])).toHaveLength(1);
  expect(isHighlighted(1, 100)).toBe(true);
  expect(isHighlighted(0.9, 100)).toBe(false);
  expect(isHighlighted(0, 0)).toBe(false);
  expect(isHighlighted(null, 100)).toBe(false);
});

test("steps are in their order, however many syncs they have", () => {
  const syncs = [
    sync({ start_us: 1300, step: "ProfilerStep#2" }),
    sync({ start_us: 1310, step: "ProfilerStep#2" }),
    sync({ start_us: 1100, step: "ProfilerStep#10" }),
    sync({ start_us: 1500, step: null }),
  ];
  expect(stepTally(syncRows(report({ syncs: syncs })))).toEqual([
    ["ProfilerStep#10", 1],
    ["ProfilerStep#2", 2],
  ]);
});

test("no time in syncs is 0 where syncs would be seen, else unknown", () => {
  const given = report();
  const { trace, totals } = given;
  expect(knownBlocked(given, 0)).toBe(0);
  expect(knownBlocked({ ...given, trace: { ...trace, devices: [] } }, 0)).toBeNull();
  expect(knownBlocked({ ...given, totals: { ...totals, sync_count: null } }, 0)).toBeNull();
  expect(knownBlocked({ ...given, trace: { ...trace, devices: [] } }, 5)).toBe(5);
});
