import { expect, test } from "vitest";

import { report, step } from "../../testing/report";
import { breakdownRows, deviceRows, kindRows, severeWarnings, traceFacts } from "./tables";

test("kinds and categories are shares of a whole", () => {
  const totals = { ...report().totals, device_us_by_kind: { copy: 20, matrix: 60, set: 0 } };
  const rows = kindRows(report({ totals, steps: [step("a"), step("b")] }));
  expect(rows).toEqual([
    { key: "matrix", us: 30, share: 0.75 },
    { key: "copy", us: 10, share: 0.25 },
  ]);
  const one = {
    id: 1,
    step_id: 1,
    step: "a",
    start_us: 0,
    duration_us: 80,
    kernel_us: 20,
    copy_us: 10,
    set_us: 0,
    communication_us: 10,
    runtime_us: 10,
    data_us: 10,
    host_us: 10,
    other_us: 10,
  };
  const breakdown = breakdownRows([one, { ...one, kernel_us: 40, duration_us: 100 }]);
  expect(breakdown[0]).toEqual({ key: "kernel", us: 30, share: 30 / 90 });
  expect(breakdown.reduce((sum, { us }) => sum + us, 0)).toBe(90);
  expect(breakdownRows([])).toEqual([]);
});

test("a device's numbers that the trace does not hold stay null", () => {
  const use = {
    id: "2",
    device: "2",
    span_us: 10,
    busy_us: 8,
    compute_us: 8,
    communication_us: 0,
    overlapped_us: 0,
    kernel_us: 0,
    tensor_core_us: 0,
    tensor_core_eligible_us: 0,
    utilization: null,
    sm_efficiency: null,
    occupancy_pct: null,
  };
  expect(deviceRows(report({ devices: [use] }))).toEqual([
    {
      id: "2",
      name: "device 2",
      utilization: null,
      efficiency: null,
      occupancy: null,
      tensorCores: null,
      eligible: null,
      overlapped: null,
      communication: 0,
    },
  ]);
});

test("facts that a trace does not say are said to be missing", () => {
  expect(Object.fromEntries(traceFacts(report()))).toMatchObject({
    torch: "unknown",
    rank: "unknown",
    devices: "1 · GPU",
  });
  const { trace } = report();
  const ranked = report({ trace: { ...trace, rank: 3, world_size: 8, devices: [] } });
  expect(Object.fromEntries(traceFacts(ranked))).toMatchObject({
    rank: "3 of 8",
    devices: "none",
  });
});

test("only what makes figures wrong heads the summary", () => {
  const low = { id: "quotes", code: "quotes", message: "a", count: 1, severity: "low" } as const;
  const high = { ...low, id: "no-launch", code: "no-launch", severity: "high" } as const;
  const trace = { ...report().trace, warnings: [high, low] };
  expect(severeWarnings(report({ trace }))).toEqual([high]);
  expect(severeWarnings(report())).toEqual([]);
});
