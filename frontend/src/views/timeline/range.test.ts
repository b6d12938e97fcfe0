import { expect, test } from "vitest";

import { causeText, partsOf, rankings } from "./range";

test("rankings by kind, device work first; kinds without any are left out", () => {
  const row = { count: 1, total_us: 2, self_us: null };
  const top = [
    { ...row, kind: "host" as const, name: "aten::add" },
    { ...row, kind: "device" as const, name: "gemm" },
    ...Array.from({ length: 20 }, () => ({ ...row, kind: "forward" as const, name: "a" })),
  ];
  expect(rankings({ top }).map(({ title, rows }) => [title, rows.length])).toEqual([
    ["Kernels", 1],
    ["Operators and calls", 1],
    ["Modules, forward", 8],
  ]);
});

test("parts that are nothing are left out", () => {
  expect(partsOf({ sync: 1, launch: 0, copy: 5 })).toEqual([
    ["copy", 5],
    ["sync", 1],
  ]);
  expect(causeText("data_loading")).toBe("data loading");
});
