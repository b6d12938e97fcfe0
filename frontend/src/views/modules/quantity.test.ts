import { expect, test } from "vitest";

import type { ReportData } from "../../api/schema";
import {
  type Averaging,
  backwardTotal,
  type Measure,
  measureOf,
  unattributedTime,
} from "../../report/measures";
import { module, report, step, work } from "../../testing/report";
import type { Grouping, Quantity } from "./address";
import { moduleNumbers, type ModuleNumbers } from "./moduleNumbers";
import { buildTree, groupTree } from "./moduleTree";
import { chooseQuantity, restOf, wholeOf } from "./quantity";

interface Asked {
  averaging?: Averaging;
  quantity?: Quantity;
  clock?: Measure;
  by?: Grouping;
}

function numbersOf(given: ReportData, asked: Asked = {}): ModuleNumbers[] {
  const { averaging = "total", quantity = null, clock = null, by = "instance" } = asked;
  const base = buildTree(given.modules);
  return moduleNumbers(
    given,
    base,
    groupTree(base, by),
    chooseQuantity(given, { quantity, clock, averaging }),
  );
}

const twoSteps = [step("ProfilerStep#1"), step("ProfilerStep#2", { duration_us: 300 })];

test("sums are divided by the steps for a mean, and left alone for a total", () => {
  const given = report({ steps: twoSteps });
  const [mean] = numbersOf(given, { averaging: "mean" });
  const [total] = numbersOf(given);
  expect([mean?.total, mean?.self, mean?.calls, mean?.kernels]).toEqual([4.5, 0.5, 0.5, 0.5]);
  expect([total?.total, total?.self, total?.calls, total?.kernels]).toEqual([9, 1, 1, 1]);
  expect([mean?.share, mean?.ratio]).toEqual([total?.share, total?.ratio]);
  expect(total?.share).toBeCloseTo(0.9);
});

test("calls that are not in the trace are unknown, of a group those of the others count", () => {
  const nothing = { ...work(null), host_us: null, self_host_us: null };
  const none = { calls: 0, unseen: "no calls", forward: nothing, backward: nothing };
  const unseen = module("b", null, none);
  const given = report({ modules: [module("a", null), unseen] });
  expect(numbersOf(given).map(({ calls, total }) => [calls, total])).toEqual([
    [1, 2],
    [null, null],
  ]);
  expect(numbersOf(given, { by: "class" })[0]?.calls).toBe(1);
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
  const [numbers] = numbersOf(given, { averaging: "mean" });
  expect(measureOf(given)).toBe("host");
  expect([backwardTotal(given), unattributedTime(given, "host")]).toEqual([20, 2]);
  expect([numbers?.total, numbers?.self, numbers?.ratio]).toEqual([4, 4, 2]);
  expect(numbers?.kernels).toBeNull();
});

test("a ratio to no forward time is nothing, not infinity", () => {
  const given = report({ modules: [module("a", null, { forward: work(0) })] });
  expect(numbersOf(given, { averaging: "mean" })[0]?.ratio).toBeNull();
});

test("a module's own sync leaves out those of the modules below", () => {
  const syncs = (
    blocked: number,
  ): { count: number; blocked_us: number; device_idle_us: number } => ({
    count: 1,
    blocked_us: blocked,
    device_idle_us: 0,
  });
  const given = report({
    modules: [module("", null, { sync: syncs(10) }), module("a", "", { sync: syncs(7) })],
  });
  const own = numbersOf(given).map((n) => n.ownBlocked);
  expect(own).toEqual([3, 7]);
});

test("what the first use of kernels took is summed over a group, and null stays null", () => {
  const given = report({
    steps: twoSteps,
    modules: [
      module("a", null, { kernel_loading_us: 30 }),
      module("b", null, { kernel_loading_us: 10 }),
    ],
  });
  const [group, a, b] = numbersOf(given, { averaging: "mean", by: "class" });
  expect([group?.loading, a?.loading, b?.loading]).toEqual([20, 15, 5]);
  expect(numbersOf(report())[0]?.loading).toBeNull();
});

test("communication is no part of the total and the ratio", () => {
  const backward = { ...work(10), compute_us: 4, communication_us: 6 };
  const given = report({ modules: [module("a", null, { forward: work(2), backward })] });
  const [numbers] = numbersOf(given);
  expect([numbers?.total, numbers?.communication, numbers?.ratio]).toEqual([4, 6, 2]);
});

test("each quantity has its own totals, whole and rest", () => {
  const given = report({
    totals: { ...report().totals, communication_device_us: 8 },
    coverage: { ...report().coverage, communication_device_us: 6 },
    modules: [
      module("", null, {
        forward: work(5, 1),
        backward: { ...work(9, 3), compute_us: 3, self_compute_us: 1, communication_us: 6 },
        recompute: work(4, 0),
      }),
      module("a", "", {
        forward: work(4),
        backward: { ...work(6), compute_us: 2, self_compute_us: 2, communication_us: 4 },
        recompute: work(4),
      }),
    ],
  });
  const numbers = (quantity: Quantity): unknown => {
    const chosen = chooseQuantity(given, { quantity, clock: null, averaging: "total" });
    const rows = numbersOf(given, { quantity }).map((n) => [n.total, n.self]);
    return [...rows, wholeOf(given, chosen), restOf(given, chosen)];
  };
  expect(numbers("forward")).toEqual([[5, 1], [4, 4], 5, 0]);
  expect(numbers("backward")).toEqual([[3, 1], [2, 2], 4, 1]);
  expect(numbers("recompute")).toEqual([[4, 0], [4, 4], 4, null]);
  expect(numbers("communication")).toEqual([[6, 2], [4, 4], 8, 2]);
});

test("the host's time is shown where it is asked for, communication has none", () => {
  const given = report();
  const chosen = (quantity: Quantity): unknown =>
    chooseQuantity(given, { quantity, clock: "host", averaging: "mean" });
  expect(chosen("backward")).toEqual({ quantity: "backward", clock: "host", averaging: "mean" });
  expect(chosen("communication")).toMatchObject({ clock: "device" });
});

test("without a backward the forward is shown", () => {
  const none = { ...report().coverage, backward_device_us: 0, backward_host_us: 0 };
  const given = report({ coverage: { ...none, measure: "host" } });
  const wanted = { quantity: null, clock: null, averaging: "mean" } as const;
  expect(chooseQuantity(given, wanted)).toMatchObject({ quantity: "forward", clock: "device" });
});

test("without a backward the forward's whole is all that ran on the device but collectives", () => {
  const kinds = { matrix: 15, copy: 5, communication: 100 };
  const none = { ...report().coverage, backward_device_us: 0, backward_host_us: 0 };
  const given = report({
    steps: [step("a", { backward_us: 0 })],
    coverage: none,
    totals: { ...report().totals, device_us_by_kind: kinds },
    modules: [module("a", null, { forward: work(8), backward: work(null) })],
  });
  const chosen = { quantity: "forward", clock: "device", averaging: "mean" } as const;
  expect([wholeOf(given, chosen), restOf(given, chosen)]).toEqual([20, 12]);
});

test("a group's total counts nothing twice, its self time is that of all in it", () => {
  const given = report({
    modules: [
      module("", null, { class: "Block", backward: work(9, 1) }),
      module("a", "", { class: "Block", backward: work(6, 2) }),
      module("a.b", "a", { class: "Linear", backward: work(4) }),
      module("c", "", { class: "Block", backward: work(2) }),
    ],
  });
  const rows = (by: Grouping): unknown => {
    const tree = groupTree(buildTree(given.modules), by);
    const numbers = numbersOf(given, { by });
    return tree.nodes.map((node, at) => {
      const row = numbers[at];
      return [node.label, row?.total, row?.self, row?.calls, row?.alone];
    });
  };
  expect(rows("class")).toEqual([
    ["Block", 9, 5, 3, 0],
    ["(root)", 9, 1, 1, 1],
    ["a", 6, 2, 1, 2],
    ["c", 2, 2, 1, 2],
    ["Linear", 4, 4, 1, 0],
    ["a.b", 4, 4, 1, 4],
  ]);
  expect(rows("depth")).toEqual([
    ["level 1", 9, 1, 1, 0],
    ["(root)", 9, 1, 1, 1],
    ["level 2", 8, 4, 2, 0],
    ["a", 6, 2, 1, 2],
    ["c", 2, 2, 1, 2],
    ["level 3", 4, 4, 1, 0],
    ["a.b", 4, 4, 1, 4],
  ]);
});
