import { expect, test } from "vitest";

import { report, step, sync } from "../testing/report";
import { attributedTo, headline, originsOf } from "./headline";
import { backwardUnknown, hasBackward } from "./measures";

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
    blocked: 6,
    lost: 2,
    idle: 12,
    attributed: 0.9,
    stepShare: 0.3,
  });
});

test("the view of modules is named after the backward pass where there is one", () => {
  const coverage = { ...report().coverage, backward_device_us: 0, backward_host_us: 0 };
  const without = { coverage, steps: [step("a", { backward_us: 0 })] };
  expect(hasBackward(report())).toBe(true);
  expect(hasBackward(report({ ...without, steps: [step("a")] }))).toBe(true);
  expect(hasBackward(report(without))).toBe(false);
});

test("no backward work is nothing, not all attributed", () => {
  const coverage = { ...report().coverage, backward_device_us: 0, unattributed_us: 0 };
  expect(headline(report({ coverage, steps: [] }), "mean").attributed).toBeNull();
});

test("an annotation is no module", () => {
  const by_origin = { annotation: 7, python_stack: 2 };
  const given = report({ coverage: { ...report().coverage, by_origin } });
  expect(attributedTo(given)?.annotations).toBeCloseTo(0.7);
  expect(attributedTo(given)?.stackLabels).toBeCloseTo(0.2);
  expect(headline(given, "mean").attributed).toBeCloseTo(0.2);
  expect(originsOf(given)).toEqual([
    ["annotations", 7],
    ["modules, by labels of Python stacks", 2],
  ]);
});

test("a backward is unknown where the trace has no host, and none where the host did none", () => {
  const given = report();
  const totals = { ...given.totals, backward_device_us: null, unplaced_graph_us: null };
  const of = (us: number | null): boolean =>
    backwardUnknown({ totals, steps: [step("a", { backward_us: us })] });
  expect([of(null), of(0)]).toEqual([true, false]);
});
