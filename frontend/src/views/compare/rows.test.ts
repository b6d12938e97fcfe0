import { describe, expect, test } from "vitest";

import type { Comparison, FindingChange, Pair } from "../../api/schema";
import type { ChangeStatus } from "../../api/client";
import { sideBars, worthAWord } from "./Bars";
import { changeOf, changeText, countChange, fromTo, sideText } from "./changes";
import { compareRows, filterRows, firstTable, sortRows, tallyStatus } from "./rows";
import { comparison, kernelChange, moduleChange, pair, syncChange } from "./testing";

test("changes always have a sign", () => {
  const scale = { unit: "ms", digits: 2 } as const;
  expect(changeText(1500, scale)).toBe("+1.50 ms");
  expect(changeText(-1500, scale)).toBe("−1.50 ms");
  expect(changeText(0, scale)).toBe("0");
  expect(changeText(null, scale)).toBe("—");
  expect(changeOf(-118_400)).toBe("−118.4 ms");
  expect(changeOf(null)).toBe("—");
  expect([countChange(-2), countChange(0.5), countChange(0), countChange(null)]).toEqual([
    "−2",
    "+0.5",
    "0",
    "—",
  ]);
  expect(fromTo(45_460, 1420)).toBe("45.46 → 1.42 ms");
  expect(fromTo(null, 1420)).toBe("— → 1.42 ms");
  expect(fromTo(1420, null)).toBe("1.42 ms → —");
});

describe("rows", () => {
  const compared = comparison({
    modules: [
      moduleChange("a", pair(10, 10)),
      moduleChange("b", pair(10, 30), { sync_blocked_us: pair(4, 2) }),
      moduleChange(
        "c",
        { base: 50, other: null, change: -50 },
        {
          status: "vanished",
          forward_us: { base: 0, other: null, change: 0 },
          other_path: null,
        },
      ),
      moduleChange(
        "d",
        { base: null, other: 7, change: 7 },
        {
          status: "appeared",
          forward_us: { base: null, other: 0, change: 0 },
          base_path: null,
        },
      ),
    ],
    kernels: [kernelChange("gemm", pair(5, 5))],
  });
  const rows = compareRows(compared, "modules");

  test("show what differs unless all is asked for, by effect", () => {
    const names = (status: ChangeStatus | "all" | null, search = ""): string[] =>
      sortRows(filterRows(rows, { search, status }), { key: "effect", descending: true }).map(
        ({ name }) => name,
      );
    expect(names(null)).toEqual(["c", "b", "d"]);
    expect(names("all")).toEqual(["c", "b", "d", "a"]);
    expect(names("same")).toEqual(["a"]);
    expect(names("appeared")).toEqual(["d"]);
    expect(names("all", "LINEAR")).toHaveLength(4);
    expect(names("all", "C")).toEqual(["c"]);
    expect(Object.fromEntries(tallyStatus(rows))).toEqual({
      same: 1,
      changed: 1,
      vanished: 1,
      appeared: 1,
    });
  });

  test("sort by any column; what is missing comes last either way", () => {
    const by = (key: string, descending: boolean): string =>
      sortRows(rows, { key, descending })
        .map(({ name }) => name)
        .join("");
    expect(by("name", true)).toBe("dcba");
    expect(by("change", false)).toBe("cadb");
    expect(by("before", true)).toBe("cbad");
    expect(by("before", false)).toBe("bacd");
    expect(by("blocked", false).startsWith("b")).toBe(true);
  });

  test("a row names its place on both sides", () => {
    expect(rows[2]).toMatchObject({ base: { module: "c" }, other: null, after: null });
    const site = { module: "head", module_id: 4, node: "N", operator: "op", frame: "a.py(1): f" };
    const [syncs] = compareRows(
      comparison({
        sync_sites: [
          syncChange("x", pair(3, 5), { base_site: site, other_site: { ...site, module: null } }),
        ],
      }),
      "syncs",
    );
    expect(syncs).toMatchObject({
      note: "N · op · a.py(1): f",
      change: 2,
      base: { text: "head · N · op · a.py(1): f", module: "head" },
    });
  });

  test("the table with the largest effect is shown first", () => {
    expect(firstTable(compared)).toBe("modules");
    const syncs = { sync_sites: [syncChange("x", pair(0, 2))] };
    const more = (us: number): Comparison =>
      comparison({ ...syncs, kernels: [kernelChange("gemm", pair(us, 0))] });
    expect([firstTable(more(1)), firstTable(more(2)), firstTable(more(3))]).toEqual([
      "syncs",
      "syncs",
      "kernels",
    ]);
    const kernels = comparison({ kernels: [kernelChange("gemm", pair(5, 6))] });
    expect(firstTable(kernels)).toBe("kernels");
    expect(firstTable(comparison({ kernels: [kernelChange("gemm", pair(5, 5))] }))).toBe("kernels");
    expect(firstTable(comparison())).toBe("modules");
  });

  test("ids are those of the rows, however long the names", () => {
    const long = "k".repeat(10_000);
    const kernels = [`${long}a`, `${long}b`].map((name, at) => ({
      ...kernelChange(name, pair(1, 2)),
      id: `${at}|7`,
    }));
    const ids = compareRows(comparison({ kernels }), "kernels").map(({ id }) => id);
    expect(ids).toEqual(["0|7", "1|7"]);
  });
});

test("what happens once is no number per step, and decides nothing", () => {
  const none = pair(null, null);
  const finding = (rule: string, cost: Pair, once: Pair): FindingChange => ({
    ...{ id: rule, base_id: rule, other_id: rule, rule, title: rule, fix: "", status: "changed" },
    ...{ base_where: "w", other_where: "w", base_module: null, base_module_id: null },
    ...{ other_module: null, other_module_id: null, gain_us: none, cost_us: cost, once_us: once },
  });
  const compared = comparison({
    findings: [finding("loading", pair(2e6, 9e6), pair(2e6, null)), finding("a", pair(4, 5), none)],
    kernels: [kernelChange("gemm", pair(5, 7))],
  });
  const [loading, recurring] = compareRows(compared, "findings");
  const once = { base: 2e6, other: null };
  expect(loading).toMatchObject({ before: null, after: 9e6, change: null, once });
  expect(recurring).toMatchObject({ before: 4, after: 5, change: 1, once: null });
  const scale = { unit: "ms", digits: 2 } as const;
  expect(sideText(null, 2e6, scale)).toBe("2000.0 ms once");
  expect(sideText(1500, null, scale)).toBe("1.50 ms");
  expect(firstTable(compared)).toBe("kernels");
});

test("bars of both sides have one scale, and none where a side has no device", () => {
  const { phases, parts, longest } = sideBars(comparison({ step_us: pair(100, 80) }));
  expect(longest).toBe(100);
  expect(phases.map(({ key }) => key)).toEqual(["forward", "backward", "other"]);
  expect(parts?.map(({ key }) => key)).toEqual(["busy", "launch"]);
  expect(sideBars(comparison({ device_busy_us: pair(null, 80) })).parts).toBeNull();
  expect(worthAWord(phases, 1e6)).toEqual([]);
});

test("a module loses what the devices idled by its syncs, the host's time where that is unknown", () => {
  const lost = (idle: ReturnType<typeof pair>): number | null | undefined =>
    compareRows(
      comparison({
        modules: [
          moduleChange("a", pair(1, 1), { sync_blocked_us: pair(0, 50), sync_idle_us: idle }),
        ],
      }),
      "modules",
    )[0]?.lost;
  expect(lost(pair(0, 0))).toBe(0);
  expect(lost(pair(0, 20))).toBe(20);
  expect(lost({ base: null, other: null, change: null })).toBe(50);
});
