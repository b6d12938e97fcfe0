import { expect, test } from "vitest";

import { placeFromHash, placeToHash, START } from "./place";
import { inTimeline } from "./link";

const report = { trace: { start_us: 1_700_000_000_000_000 } } as Parameters<typeof inTimeline>[0];

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
