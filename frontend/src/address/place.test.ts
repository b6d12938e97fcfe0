import { expect, test } from "vitest";

import { inTimeline } from "./links";
import { placeFromHash, placeToHash, START, type Place } from "./place";

test("what is at its default is not in the address", () => {
  expect(placeToHash(START)).toBe("#/summary");
});

test("every part of a place survives its address", () => {
  const place: Place = {
    view: "syncs",
    run: "a/b & c",
    worker: "gpu01#0",
    trace: "17",
    step: "ProfilerStep#5",
    averaging: "total",
    quantity: "recompute",
    clock: "host",
    group: "class",
    withForward: true,
    module: "",
    picked: "level 2",
    zoom: "blocks.<0>",
    sync: "1010.5.1",
    phase: "backward",
    cause: "x=y",
    finding: "sync-scalar-item (root), aten::item",
    severity: "high",
    confidence: "low",
    rule: "sync-scalar-item",
    about: "",
    search: "مرحبا ?",
    sort: { key: "total", descending: true },
    shown: { from: 0.001, to: 2_300_000.5 },
    range: { from: 12.25, to: 13 },
    mark: { from: 0, to: 1e9 },
    lanes: {
      pinned: ["3", "12"],
      order: ["1", "3", "12", "0"],
      openings: new Map([["12", "short"]]),
      filter: "stream 7",
    },
    colours: "name",
    sql: 'select 1 as "a;b"',
    scope: "run",
    event: "812",
    compare: {
      base: { run: "before & <1>", worker: "gpu01#0", trace: "16", steps: ["a b", "c"] },
      steps: ["ProfilerStep#5", "ProfilerStep#6"],
      table: "syncs",
      status: "appeared",
      row: "scalar-read head",
    },
    operators: { group: "stack", page: 3, row: 17 },
    kernels: { group: "launch", page: 2, row: 5, points: "module" },
    whatIf: {
      without: ["sync-scalar-item", "launch-bound:a=b & c"],
      scale: [
        { what: "kernel:f<a=1>(x)", factor: 0.5 },
        { what: "host", factor: 0 },
      ],
    },
    ranks: {
      heat: "idle",
      offset: 40,
      rank: 17,
      at: "ProfilerStep#5",
      list: "collectives",
      kind: "all_reduce",
      page: 2,
      collective: 812,
      together: true,
      others: 30,
    },
    memory: { device: "cuda:1", chart: "block", table: "blocks", kind: "activation", offset: 50 },
  };
  expect(placeFromHash(placeToHash(place))).toEqual(place);
});

test("an address from before a view was renamed leads to it", () => {
  expect(placeFromHash("#/backward?run=a")).toMatchObject({ view: "modules", run: "a" });
});

test("an unnamed root is not the same as none", () => {
  expect(placeFromHash("#/modules?module=").module).toBe("");
  expect(placeFromHash("#/modules").module).toBeNull();
});

test.each([
  "",
  "#",
  "#/",
  "#/nowhere?sort=--&per=%",
  "#summary?=&&",
  "#/?from=5&to=4&range=1..x&mark=..",
])("a poor address %j leads to the start", (hash) => {
  expect(placeFromHash(hash)).toEqual(START);
});

const report = { trace: { start_us: 1_700_000_000_000_000 } };

test("a time of the report is selected, in the middle of what is around it", () => {
  const place = inTimeline(report, 1_700_000_000_000_600, 60);
  expect(place.view).toBe("timeline");
  expect(place.range).toEqual({ from: 600, to: 660 });
  expect(place.shown?.from).toBeCloseTo(580);
  expect(place.shown?.to).toBeCloseTo(680);
  expect(place.event).toBeNull();
});

test("an event is selected instead of its time", () => {
  const place = inTimeline(report, 1_700_000_000_000_600, 60, 7);
  expect(place).toMatchObject({ range: null, event: "7" });
});

test("what has no length has an address that can be read back", () => {
  const place = { ...START, ...inTimeline(report, 1_700_000_000_000_600, 0) };
  const back = placeFromHash(placeToHash(place));
  expect(back.range).toEqual({ from: 600, to: 600.1 });
  expect(back.shown?.from).toBeLessThan(600);
});
