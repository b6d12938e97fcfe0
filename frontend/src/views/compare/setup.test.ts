import { expect, test } from "vitest";

import { report } from "../../testing/report";
import { setupDifferences } from "./sides";

test("two recordings of one setup differ in nothing", () => {
  expect(setupDifferences(report(), report())).toEqual([]);
});

test("another device and another version of torch are said; what is unknown is not", () => {
  const { trace } = report();
  const device = { id: "cuda:0", name: "H100" } as (typeof trace.devices)[number];
  const before = report({ trace: { ...trace, devices: [device], torch_version: "2.8.0" } });
  const other = { ...device, name: "MI300X" };
  const after = report({ trace: { ...trace, devices: [other], torch_version: "2.9.1" } });
  expect(setupDifferences(before, after)).toEqual(["device H100 → MI300X", "torch 2.8.0 → 2.9.1"]);
  const unnamed = report({ trace: { ...trace, devices: [{ id: "2", name: "", kind: "hip" }] } });
  expect(setupDifferences(unnamed, report())).toEqual(["platform hip → cuda"]);
  const unknown = report({ trace: { ...trace, devices: [device], torch_version: null } });
  expect(setupDifferences(unknown, after)).toEqual(["device H100 → MI300X"]);
});
