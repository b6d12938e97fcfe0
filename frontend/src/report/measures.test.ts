import { expect, test } from "vitest";

import type { ReportData } from "../api/schema";
import { report, step } from "../testing/report";
import { otherLengths, replayedStep, replayedWhat, stepNote } from "./measures";

/** A report whose steps take 100 us on the host's clock, and these as recorded and in the replay. */
function lasting(
  recorded: number,
  replayed = recorded,
  rest: Partial<ReportData> = {},
): ReportData {
  return report({
    verdict: { ...report().verdict, step_us: recorded },
    critical_path_work: [{ id: "host::", part: "host", phase: null, name: null, us: replayed }],
    ...rest,
  });
}

test("the replayed step is that of the critical path, and the recorded one without it", () => {
  expect(replayedStep(lasting(121, 120))).toBe(120);
  expect(replayedStep(report())).toBe(100);
});

test("a length in the replay that reads other than the step's is named", () => {
  expect(replayedWhat(lasting(100, 99.9))).toBe("replayed");
  expect(replayedWhat(lasting(100, 99.99))).toBe("");
  expect(replayedWhat(lasting(75, 75))).toBe("of it replayed");
});

const REPLAYED = { us: 130, what: "replayed" };

test.each([
  [120, 120.1, [{ us: 120, what: "until the device finishes" }]],
  [120, 130, [{ us: 120, what: "until the device finishes" }, REPLAYED]],
  [100.4, 100, []],
  [100, 130, [REPLAYED]],
  [75, 75, [{ us: 75, what: "of it replayed" }]],
] as const)("a step of %s us, in the replay %s", (recorded, replayed, lengths) => {
  expect(otherLengths(lasting(recorded, replayed))).toEqual(lengths);
});

test("steps that begin with a gap between them last until the next", () => {
  const steps = [step("ProfilerStep#1"), step("ProfilerStep#2", { start_us: 140 })];
  const what = "with the gap to the next";
  expect(otherLengths(lasting(120, 120, { steps }))).toEqual([{ us: 120, what }]);
});

test.each([
  ["device", "on the device"],
  ["communication", "on the device"],
  ["even", "until the device finishes"],
] as const)("a step that %s decides lasts until its device work is done", (bound, what) => {
  const longer = lasting(120);
  const decided = { ...longer, verdict: { ...longer.verdict, bound } };
  expect(otherLengths(decided)).toEqual([{ us: 120, what }]);
});

test("next to the step on the host's clock stands the one that savings are of", () => {
  expect(stepNote(lasting(120, 130))).toBe(
    "120.0 us until the device finishes · 130.0 us replayed",
  );
  expect(stepNote(report())).toBe("");
});
