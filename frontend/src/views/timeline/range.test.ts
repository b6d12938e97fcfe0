import { expect, test } from "vitest";

import { causeText, partsOf, rankings } from "./range";

test("rankings by kind, device events first; kinds without any are left out", () => {
  const row = { measure: "device" as const, count: 1, total_us: 2, self_us: null };
  const top = [
    { ...row, kind: "host" as const, name: "aten::add" },
    { ...row, kind: "device" as const, name: "gemm" },
    ...Array.from({ length: 20 }, () => ({ ...row, kind: "forward" as const, name: "a" })),
  ];
  const omitted = { device: 0, host: 3, forward: 40 };
  const found = rankings({ top, omitted });
  expect(found.map(({ title, rows, more }) => [title, rows.length, more])).toEqual([
    ["Kernels", 1, 0],
    ["Operators and calls", 1, 3],
    ["Modules, forward", 8, 52],
  ]);
});

test("parts that are nothing are left out", () => {
  expect(partsOf({ sync: 1, launch: 0, copy: 5 })).toEqual([
    ["copy", 5],
    ["sync", 1],
  ]);
  expect(causeText("data_loading")).toBe("data loading");
});
