import { expect, test } from "vitest";

import type { WireFinding } from "../api/types";
import { report, sync } from "../testing/report";
import { findingsOfModule, findingsOfSync } from "./findings";

function finding(rule: string, where: string, module: string | null): WireFinding {
  return {
    rule,
    where,
    module,
    severity: "high",
    title: "The host waits",
    cost_us_per_step: 1,
    gain_us_per_step: 1,
    evidence: "",
    fix: "",
    confidence: "high",
  };
}

const given = report({
  findings: [
    finding("scalar-read", "head, IndexBackward0", "head"),
    finding("scalar-read", "header, IndexBackward0", "header"),
    finding("blocking-copy", "head, ToCopyBackward0", "head"),
    finding("scalar-read", "(root), aten::item", ""),
    finding("scalar-read", "outside every module, aten::item", null),
  ],
});

test("a wait is advised upon by the finding of its cause and module", () => {
  const rules = (module: string | null): string[] =>
    findingsOfSync(given, sync({ module })).map(({ where }) => where);
  expect(rules("head")).toEqual(["head, IndexBackward0"]);
  expect(rules("")).toEqual(["(root), aten::item"]);
  expect(rules(null)).toEqual(["outside every module, aten::item"]);
  expect(rules("blocks")).toEqual([]);
});

test("a module has the findings of all causes", () => {
  const rules = findingsOfModule(given, "head").map(({ rule }) => rule);
  expect(rules).toEqual(["scalar-read", "blocking-copy"]);
});
