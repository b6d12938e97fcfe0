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
  expect(syncMarks(syncs, span, 500)).toEqual([0, 100]);
});

test("a short sync is marked when one looks closely", () => {
  const syncs = [{ from: 1100, to: 1101, look: false }];
  expect(syncMarks(syncs, span, 500)).toEqual([]);
  expect(syncMarks(syncs, { from: 1095, to: 1105 }, 500)).toEqual([300]);
});
