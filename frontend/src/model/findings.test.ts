import { expect, test } from "vitest";

import { finding, report, sync } from "../testing/report";
import { findingsOfModule, findingsOfSync } from "./findings";

const given = report({
  findings: [
    finding({ rule: "scalar-read", where: "head, IndexBackward0", module: "head" }),
    finding({ rule: "scalar-read", where: "header, IndexBackward0", module: "header" }),
    finding({ rule: "blocking-copy", where: "head, ToCopyBackward0", module: "head" }),
    finding({ rule: "scalar-read", where: "(root), aten::item", module: "" }),
    finding({ rule: "scalar-read", where: "outside every module, aten::item", module: null }),
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
