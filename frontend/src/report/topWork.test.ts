import { expect, test } from "vitest";

import type { ReportData } from "../api/schema";
import { report, step } from "../testing/report";
import { hostOperators, topKernels } from "./topWork";

const kernel = (id: number, total_us: number): ReportData["kernels"][number] =>
  ({ id, name: `k${id}`, total_us }) as ReportData["kernels"][number];

test("the kernels with the most time come first, per step, as shares of all device events", () => {
  const totals = { ...report().totals, device_us_by_kind: { matrix: 60, copy: 40 } };
  const kernels = [kernel(0, 40), kernel(1, 60)];
  const given = report({ kernels, totals, steps: [step("a"), step("b")] });
  expect(topKernels(given, 1)).toEqual([{ id: 1, name: "k1", us: 30, share: 0.6 }]);
});

const operator = (id: number, self_host_us: number): ReportData["operators"][number] =>
  ({ id, name: `op${id}`, self_host_us }) as ReportData["operators"][number];

test("the operators with the most self time come first, per step, as shares of all", () => {
  const operators = [operator(0, 10), operator(1, 60), operator(2, 0), operator(3, 30)];
  const given = report({ operators, steps: [step("a"), step("b")] });
  expect(hostOperators(given, 2)).toEqual([
    { id: 1, name: "op1", us: 30, share: 0.6 },
    { id: 3, name: "op3", us: 15, share: 0.3 },
  ]);
});

test("a trace without operators has none", () => {
  expect(hostOperators(report({ operators: [], steps: [] }), 5)).toEqual([]);
});
