import { expect, test } from "vitest";

import { syncRows } from "../../report/syncs";
import { report, step, sync } from "../../testing/report";
import { stripBins, stripSpan, stripSteps } from "./SyncStrip";

const given = report({
  steps: [
    step("ProfilerStep#1", { start_us: 1000, duration_us: 100 }),
    step("ProfilerStep#2", { start_us: 1100, duration_us: 100 }),
  ],
  syncs: [
    sync({ start_us: 1015, duration_us: 30 }),
    sync({ start_us: 1040, duration_us: 0.5 }),
    sync({ start_us: 1150, duration_us: 20, cause: "profiler" }),
    sync({ start_us: 1190, duration_us: 30 }),
  ],
});
const rows = syncRows(given);
const span = stripSpan(given, rows);

test("steps and syncs take up the strip together", () => {
  expect(span).toEqual({ from: 0, to: 220 });
  expect(stripSpan(report({ steps: [] }), [])).toEqual({ from: 0, to: 1 });
  expect(stripSteps(given, span).map(({ from, width }) => [from * 220, width * 220])).toEqual([
    [0, 100],
    [100, 100],
  ]);
});

test("slices hold all syncs, and their time sums to that of the syncs", () => {
  const bins = stripBins(given, rows, span, 22);
  expect(bins.map(({ from, us }) => [Math.round(from * 22), us])).toEqual([
    [1, 5],
    [2, 10],
    [3, 10],
    [4, 5.5],
    [15, 10],
    [16, 10],
    [19, 10],
    [20, 10],
    [21, 10],
  ]);
  const total = bins.reduce((sum, { us }) => sum + us, 0);
  expect(total).toBeCloseTo(rows.reduce((sum, row) => sum + row.sync.duration_us, 0));
  expect(new Set(bins.flatMap((bin) => bin.rows))).toEqual(new Set(rows));
  expect(bins[3]?.longest.id).toBe("0");
});

test("syncs at the same time fill a slice once; a look is for what can be avoided", () => {
  const twice = [...rows, ...rows];
  expect(stripBins(given, twice, span, 22).map(({ blocked }) => blocked)).toContain(1);
  const looks = stripBins(given, rows, span, 22).filter(({ look }) => look);
  expect(looks.map(({ from }) => Math.round(from * 22))).toEqual([1, 2, 3, 4, 19, 20, 21]);
});

test("one slice and one sync without length", () => {
  const single = report({ steps: [], syncs: [sync({ start_us: 1000, duration_us: 0 })] });
  const only = syncRows(single);
  expect(stripBins(single, only, stripSpan(single, only), 1)).toMatchObject([
    { from: 0, width: 1, us: 0, look: false },
  ]);
});
