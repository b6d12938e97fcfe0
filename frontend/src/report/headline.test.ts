import { expect, test } from "vitest";

import { report, step, sync } from "../testing/report";
import { headline } from "./headline";

test("the figures above the fold", () => {
  const steps = [step("ProfilerStep#1"), step("ProfilerStep#2", { duration_us: 300 })];
  const syncs = [sync(), sync({ duration_us: 7 }), sync({ phase: "other", duration_us: 50 })];
  const head = headline(report({ steps, syncs }), "mean");
  expect(head).toEqual({
    measure: "device",
    steps: 2,
    step: 200,
    backward: 5,
    ratio: 2,
    backwardSyncs: 1,
    blocked: 6,
    idle: 12,
    attributed: 0.9,
    stepShare: 0.3,
  });
});

test("no backward work is nothing, not all attributed", () => {
  const coverage = { ...report().coverage, backward_device_us: 0, unattributed_us: 0 };
  expect(headline(report({ coverage, steps: [] }), "mean").attributed).toBeNull();
});
