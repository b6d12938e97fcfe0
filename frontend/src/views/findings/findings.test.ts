import { expect, test } from "vitest";

import type { ReportData, RuleInfo } from "../../api/schema";
import { findingsOfModule, findingsOfSync, findingsOfSyncs } from "../../report/findings";
import { meansNote } from "../../report/measures";
import { finding } from "../../testing/findings";
import { report, step, sync } from "../../testing/report";
import { exampleInTimeline, longestSync } from "./FindingDetail";
import {
  countRules,
  filterFindings,
  type FindingRow,
  findingRows,
  OUTSIDE,
  ruleFamilies,
  sortFindings,
  unknownAmounts,
} from "./findings";

const given = report({
  findings: [
    finding({ rule: "scalar-read", where: "head, IndexBackward0", module: "head" }),
    finding({ rule: "scalar-read", where: "header, IndexBackward0", module: "header" }),
    finding({ rule: "blocking-copy", where: "head, ToCopyBackward0", module: "head" }),
    finding({ rule: "scalar-read", where: "(root), aten::item", module: "" }),
    finding({ rule: "scalar-read", where: "not in a module, aten::item", module: null }),
  ],
});

test("a sync is advised upon by the finding of its cause and module", () => {
  const modules = ["head", "", null, "blocks"];
  const { syncs } = report({ ...given, syncs: modules.map((module) => sync({ module })) });
  const rules = syncs.map((one) => findingsOfSync(given, one).map(({ where }) => where));
  expect(rules).toEqual([
    ["head, IndexBackward0"],
    ["(root), aten::item"],
    ["not in a module, aten::item"],
    [],
  ]);
});

test("a module has the findings of all causes", () => {
  const head = given.modules.filter(({ path }) => path === "head");
  const rules = head.flatMap((module) => findingsOfModule(given, module)).map(({ rule }) => rule);
  expect(rules).toEqual(["scalar-read", "blocking-copy"]);
});

test("a sync that a finding has as an example is that finding's alone", () => {
  const two = report({
    syncs: [sync(), sync(), sync()],
    findings: [
      finding({ where: "head, aten::item", sync_ids: [0] }),
      finding({ where: "head, aten::is_nonzero", sync_ids: [1] }),
    ],
  });
  const wheres = two.syncs.map((one) => findingsOfSync(two, one).map(({ where }) => where));
  expect(wheres).toEqual([
    ["head, aten::item"],
    ["head, aten::is_nonzero"],
    ["head, aten::item", "head, aten::is_nonzero"],
  ]);
  expect(findingsOfSyncs(two, [...two.syncs].reverse())).toEqual(two.findings);
});

const several = (): ReportData =>
  report({
    steps: [
      step("ProfilerStep#1", { start_us: 1000, duration_us: 900, counts: false }),
      step("ProfilerStep#2", { start_us: 1900, duration_us: 100 }),
      step("ProfilerStep#3", { start_us: 2000, duration_us: 300 }),
    ],
    syncs: [
      sync({ start_us: 1910, duration_us: 5 }),
      sync({ start_us: 2010, duration_us: 9, phase: "forward" }),
      sync({ start_us: 2020, cause: "blocking-copy" }),
    ],
    findings: [
      finding({ where: "a", cost_us_per_step: null, gain_us_per_step: null, module: null }),
      finding({
        where: "b",
        cost_us_per_step: 4,
        gain_us_per_step: 3,
        examples: [1910, 2010, 2020],
        sync_ids: [0, 1],
      }),
      finding({ where: "c", cost_us_per_step: 20, gain_us_per_step: null, severity: "high" }),
      finding({ where: "d", cost_us_per_step: 0, gain_us_per_step: 0, examples: [2020] }),
    ],
  });
const wheres = (rows: readonly FindingRow[]): string[] => rows.map(({ finding: f }) => f.where);

test("costs are shares of the measured steps", () => {
  expect(several().per_step.duration_us).toBe(200);
  expect(report().per_step.duration_us).toBe(100);
  expect(report({ steps: [] }).per_step.duration_us).toBeNull();
  expect(meansNote(several())).toBe("mean of 2 of 3");
  expect(meansNote(report())).toBe("");
  const [, b, c] = findingRows(several()) as [FindingRow, FindingRow, FindingRow];
  expect([b.costShare, b.gainShare]).toEqual([0.02, 0.015]);
  expect([c.costShare, c.gainShare]).toEqual([0.1, null]);
});

test("examples know their step and, where they are syncs that it explains, the sync", () => {
  const rows = findingRows(several());
  expect(rows[1]?.examples.map(({ start, step: name, sync }) => [start, name, sync?.id])).toEqual([
    [910, "ProfilerStep#2", "0"],
    [1010, "ProfilerStep#3", "1"],
    [1020, "ProfilerStep#3", undefined],
  ]);
  expect(rows[1]?.phases).toEqual(["backward", "forward"]);
  expect(rows[3]?.examples[0]?.sync).toBeNull();
  expect(rows[1] && longestSync(rows[1])?.id).toBe("1");
  expect(rows[3] && longestSync(rows[3])).toBeNull();
});

test("an example leads to its time on the timeline, a sync to all of it", () => {
  const given = several();
  const rows = findingRows(given);
  const [sync, other] = [rows[1]?.examples[0], rows[3]?.examples[0]];
  expect(sync && exampleInTimeline(given, sync)).toMatchObject({
    view: "timeline",
    range: { from: 910, to: 915 },
  });
  expect(other && exampleInTimeline(given, other)).toMatchObject({
    shown: { from: 520, to: 1520 },
  });
  const long = other && { ...other, length: 128_000 };
  const selected = (event: number | null): unknown =>
    long && exampleInTimeline(given, { ...long, event });
  expect(selected(null)).toMatchObject({ range: { from: 1020, to: 129_020 }, event: null });
  expect(selected(7)).toMatchObject({
    range: null,
    event: "7",
    shown: { from: expect.closeTo(1020 - 42_667, 0) as number },
  });
});

test("most expensive first, unknown last either way, and counted", () => {
  const rows = findingRows(several());
  expect(wheres(sortFindings(rows, { key: "cost", descending: true }))).toEqual([
    "c",
    "b",
    "d",
    "a",
  ]);
  expect(wheres(sortFindings(rows, { key: "cost", descending: false }))).toEqual([
    "d",
    "b",
    "c",
    "a",
  ]);
  expect(wheres(sortFindings(rows, { key: "gain", descending: true }))).toEqual([
    "b",
    "d",
    "c",
    "a",
  ]);
  expect(wheres(sortFindings(rows, null))).toEqual(["a", "b", "c", "d"]);
  expect(unknownAmounts(rows, null)).toBe(0);
  expect(unknownAmounts(rows, { key: "gain", descending: true })).toBe(2);
  expect(unknownAmounts(rows, { key: "cost", descending: true })).toBe(1);
});

test("filters narrow together", () => {
  const rows = findingRows(several());
  const any = {
    search: "",
    severity: null,
    confidence: null,
    rule: null,
    phase: null,
    module: null,
  };
  const found = (filter: Partial<typeof any> | object): string[] =>
    wheres(filterFindings(rows, { ...any, ...filter }));
  expect(found({})).toEqual(["a", "b", "c", "d"]);
  expect(found({ severity: "high" })).toEqual(["c"]);
  expect(found({ module: OUTSIDE })).toEqual(["a"]);
  expect(found({ module: "head", confidence: "high" })).toEqual(["b", "c", "d"]);
  expect(found({ phase: "forward" })).toEqual(["b"]);
  expect(found({ rule: "nothing" })).toEqual([]);
  expect(found({ search: "SCALAR", severity: "high" })).toEqual(["c"]);
});

test("rules are counted and listed by family", () => {
  const rule = (id: string, family: RuleInfo["family"], visible: boolean): RuleInfo => ({
    id,
    family,
    visible,
    title: id,
    matches: "",
    fix: "",
    reference: "",
    confidence: "high",
    advice: [],
  });
  const rules = [rule("a", "sync", true), rule("b", "host", false), rule("c", "sync", true)];
  expect(countRules(rules)).toEqual({ visible: 2, unseen: 1 });
  expect(ruleFamilies(rules).map(([family, of]) => [family, of.map(({ id }) => id)])).toEqual([
    ["sync", ["a", "c"]],
    ["host", ["b"]],
  ]);
});
