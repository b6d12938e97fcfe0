import { expect, test } from "vitest";

import type { ReportData } from "../../api/schema";
import { report, step } from "../../testing/report";
import { atOnce } from "./TopWork";

const operator = (id: number, self_host_us: number): ReportData["operators"][number] =>
  ({ id, name: `op${id}`, self_host_us }) as ReportData["operators"][number];

test("operators that take longer than the steps ran at once", () => {
  const steps = [step("a"), step("b")];
  const of = (us: number): boolean => atOnce(report({ operators: [operator(0, us)], steps }));
  expect([of(200), of(201)]).toEqual([false, true]);
});
