import { expect, test } from "vitest";

import type { ReportData } from "../api/schema";
import { report } from "../testing/report";
import { replayedStep, stepNote, wholeStep } from "./measures";

/** A report whose steps take 100 us on the host's clock, and these in the replay. */
function replayed(us: number, hostUs: number): ReportData {
  const { verdict } = report();
  return report({
    verdict: { ...verdict, step_us: us + 1, host_side_us: hostUs },
    critical_path_work: [{ id: "host::", part: "host", phase: null, name: null, us }],
  });
}

test("the replayed step is that of the critical path, and the recorded one without it", () => {
  expect(replayedStep(replayed(120, 100))).toBe(120);
  expect(replayedStep(report())).toBe(100);
});

test.each([
  [120, 100, { us: 120, what: "until the device finishes" }],
  [120, 120, { us: 120, what: "with the gap to the next" }],
  [100.4, 100, null],
  [75, 100, { us: 75, what: "of it replayed" }],
] as const)("a step of %s us whose host takes %s", (us, hostUs, whole) => {
  expect(wholeStep(replayed(us, hostUs))).toEqual(whole);
});

test.each([
  ["device", "on the device"],
  ["communication", "on the device"],
  ["even", "until the device finishes"],
] as const)("a step that %s decides lasts until its device work is done", (bound, what) => {
  const longer = replayed(120, 100);
  const decided = { ...longer, verdict: { ...longer.verdict, bound } };
  expect(wholeStep(decided)).toEqual({ us: 120, what });
});

test("a replay that is longer than what was recorded shows no device work", () => {
  const longer = replayed(120, 100);
  const recorded = { ...longer, verdict: { ...longer.verdict, step_us: 100 } };
  expect(wholeStep(recorded)).toEqual({ us: 120, what: "replayed" });
});

test("next to the step on the host's clock stands the one that savings are of", () => {
  expect(stepNote(replayed(120, 100))).toBe("120.0 us until the device finishes");
  expect(stepNote(report())).toBe("");
});
