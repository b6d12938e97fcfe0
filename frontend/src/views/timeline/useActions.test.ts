import { expect, test } from "vitest";

import { firstShown } from "./useActions";

const bounds = { from: -5, to: 1005 };
const report = {
  trace: { start_us: 5000 },
  steps: [{ name: "ProfilerStep#7", start_us: 5100, duration_us: 94 }],
} as unknown as Parameters<typeof firstShown>[1];

test("all, a step, or what the address says", () => {
  expect(firstShown({ shown: null, step: null }, report, bounds)).toBe(bounds);
  const step = firstShown({ shown: null, step: "ProfilerStep#7" }, report, bounds);
  expect(step.from).toBeCloseTo(97);
  expect(step.to).toBeCloseTo(197);
  const shown = { from: 120, to: 130 };
  expect(firstShown({ shown, step: "ProfilerStep#7" }, report, bounds)).toBe(shown);
  expect(firstShown({ shown, step: "gone" }, report, bounds)).toBe(shown);
});

test("a step chosen later goes before an address that shows none of it", () => {
  const shown = { from: 500, to: 600 };
  expect(firstShown({ shown, step: "ProfilerStep#7" }, report, bounds).from).toBeCloseTo(97);
});
