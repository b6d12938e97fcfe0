import { expect, test } from "vitest";

import { draggedTo, gripAt, gripTime } from "./gestures";

const shown = { from: 100, to: 200 };

test("an end, the middle, or nothing of the frame", () => {
  const at = (time: number): string | null => gripAt(shown, time, 5);
  expect([90, 96, 104, 150, 198, 204, 210].map(at)).toEqual([
    null,
    "from",
    "from",
    "middle",
    "to",
    "to",
    null,
  ]);
});

test("a frame too small to hold three parts can only be moved", () => {
  expect(gripAt({ from: 100, to: 101 }, 100, 5)).toBe("middle");
});

test("dragging moves the frame, or one end up to the other", () => {
  expect(draggedTo(shown, "middle", 300)).toEqual({ from: 250, to: 350 });
  expect(draggedTo(shown, "from", 150)).toEqual({ from: 150, to: 200 });
  expect(draggedTo(shown, "to", 50)).toEqual({ from: 50, to: 100 });
  for (const kind of ["middle", "from", "to"] as const) {
    expect(draggedTo(shown, kind, gripTime(shown, kind))).toEqual(shown);
  }
});
