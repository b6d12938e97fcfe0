import { expect, test } from "vitest";

import type { ReportData } from "../../api/schema";
import { report, step } from "../../testing/report";
import { atOnce, hostOperators } from "./TopWork";

const operator = (id: number, self_host_us: number): ReportData["operators"][number] =>
  ({ id, name: `op${id}`, self_host_us }) as ReportData["operators"][number];

test("the operators with the most self time come first, a step, as shares of all", () => {
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

test("operators that take longer than the steps ran at once", () => {
  const steps = [step("a"), step("b")];
  const of = (us: number): boolean => atOnce(report({ operators: [operator(0, us)], steps }));
  expect([of(200), of(201)]).toEqual([false, true]);
});
