import { expect, test } from "vitest";

import type { ReportData } from "../../api/schema";
import { report, step } from "../../testing/report";
import { topKernels } from "./TopWork";

const kernel = (id: number, total_us: number): ReportData["kernels"][number] =>
  ({ id, name: `k${id}`, total_us }) as ReportData["kernels"][number];

test("the kernels with the most time come first, per step, as shares of all device events", () => {
  const totals = { ...report().totals, device_us_by_kind: { matrix: 60, copy: 40 } };
  const kernels = [kernel(0, 40), kernel(1, 60)];
  const given = report({ kernels, totals, steps: [step("a"), step("b")] });
  expect(topKernels(given, 1)).toEqual([{ id: 1, name: "k1", us: 30, share: 0.6 }]);
});
