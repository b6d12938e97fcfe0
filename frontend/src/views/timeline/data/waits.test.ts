import { expect, test } from "vitest";

import { waitMarks } from "./waits";

const span = { from: 1000, to: 2000 };

test("marked is where the wait ends, once a pixel", () => {
  const waits = [
    { from: 1100, to: 1200, look: true },
    { from: 1150, to: 1200.2, look: true },
    { from: 900, to: 1000, look: true },
    { from: 1900, to: 2100, look: true },
  ];
  expect(waitMarks(waits, span, 500)).toEqual([0, 100]);
});

test("a short wait is marked when one looks closely", () => {
  const waits = [{ from: 1100, to: 1101, look: false }];
  expect(waitMarks(waits, span, 500)).toEqual([]);
  expect(waitMarks(waits, { from: 1095, to: 1105 }, 500)).toEqual([300]);
});
