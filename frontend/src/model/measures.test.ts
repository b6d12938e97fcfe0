import { expect, test } from "vitest";

import { module, report, step, sync, work } from "../testing/report";
import { headline } from "./headline";
import { backwardTotal, measureOf, moduleNumbers, unattributedTotal } from "./measures";
import { buildTree } from "./moduleTree";

const twoSteps = [step("ProfilerStep#1"), step("ProfilerStep#2", { duration_us: 300 })];

test("sums are divided by the steps for a mean, and left alone for a total", () => {
  const given = report({ steps: twoSteps });
  const tree = buildTree(given.modules);
  const [mean] = moduleNumbers(given, tree, "mean");
  const [total] = moduleNumbers(given, tree, "total");
  expect([mean?.total, mean?.self, mean?.calls, mean?.kernels]).toEqual([4.5, 0.5, 0.5, 0.5]);
  expect([total?.total, total?.self, total?.calls, total?.kernels]).toEqual([9, 1, 1, 1]);
  expect([mean?.share, mean?.ratio]).toEqual([total?.share, total?.ratio]);
  expect(total?.share).toBeCloseTo(0.9);
});

test("a trace without a device shows the host's time, and null stays null", () => {
  const hostOnly = { ...work(4), device_us: null, self_device_us: null, kernels: null };
  const given = report({
    modules: [module("a", null, { backward: hostOnly, forward: work(2) })],
    coverage: {
      ...report().coverage,
      measure: "host",
      backward_device_us: null,
      unattributed_us: null,
    },
  });
  const [numbers] = moduleNumbers(given, buildTree(given.modules), "mean");
  expect(measureOf(given)).toBe("host");
  expect([backwardTotal(given), unattributedTotal(given)]).toEqual([20, 2]);
  expect([numbers?.total, numbers?.self, numbers?.ratio]).toEqual([4, 4, 2]);
  expect(numbers?.kernels).toBeNull();
});

test("a ratio to no forward time is nothing, not infinity", () => {
  const given = report({ modules: [module("a", null, { forward: work(0) })] });
  expect(moduleNumbers(given, buildTree(given.modules), "mean")[0]?.ratio).toBeNull();
});

test("a module's own wait leaves out those of the modules below", () => {
  const waits = (
    blocked: number,
  ): { count: number; blocked_us: number; device_idle_us: number } => ({
    count: 1,
    blocked_us: blocked,
    device_idle_us: 0,
  });
  const given = report({
    modules: [module("", null, { sync: waits(10) }), module("a", "", { sync: waits(7) })],
  });
  const own = moduleNumbers(given, buildTree(given.modules), "total").map((n) => n.ownWait);
  expect(own).toEqual([3, 7]);
});

test("the figures above the fold", () => {
  const syncs = [sync(), sync({ duration_us: 7 }), sync({ phase: "other", duration_us: 50 })];
  const head = headline(report({ steps: twoSteps, syncs }), "mean");
  expect(head).toEqual({
    measure: "device",
    steps: 2,
    step: 200,
    backward: 5,
    ratio: 2,
    backwardSyncs: 1,
    blocked: 6,
    attributed: 0.9,
    stepShare: 0.3,
  });
});

test("no backward work is nothing, not all attributed", () => {
  const coverage = { ...report().coverage, backward_device_us: 0, unattributed_us: 0 };
  expect(headline(report({ coverage, steps: [] }), "mean").attributed).toBeNull();
});

test("communication is a part of the total, and none of the ratio", () => {
  const backward = { ...work(10), by_kind: { matrix: 4, communication: 6 } };
  const given = report({ modules: [module("a", null, { forward: work(2), backward })] });
  const [numbers] = moduleNumbers(given, buildTree(given.modules), "total");
  expect([numbers?.total, numbers?.communication, numbers?.ratio]).toEqual([10, 6, 2]);
});
