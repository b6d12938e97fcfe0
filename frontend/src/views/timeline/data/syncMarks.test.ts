import { expect, test } from "vitest";

import { syncMarks } from "./syncMarks";

const span = { from: 1000, to: 2000 };

test("marked is where the sync ends, once a pixel", () => {
  const syncs = [
    { from: 1100, to: 1200, look: true },
    { from: 1150, to: 1200.2, look: true },
    { from: 900, to: 1000, look: true },
    { from: 1900, to: 2100, look: true },
  ];
  expect(syncMarks(syncs, span, 500, true)).toEqual([0, 100]);
  expect(syncMarks(syncs, span, 500, false)).toEqual([]);
});

test("a sync that costs little is marked when one looks closely", () => {
  const syncs = [{ from: 1100, to: 1101, look: false }];
  expect(syncMarks(syncs, span, 500, false)).toEqual([]);
  expect(syncMarks(syncs, { from: 1095, to: 1105 }, 500, false)).toEqual([300]);
  expect(syncMarks(syncs, { from: 1095, to: 1105 }, 500, true)).toEqual([]);
});
