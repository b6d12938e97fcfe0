import { expect, test } from "vitest";

import type { Finding } from "../../api/schema";
import { BASIS, finding } from "../../testing/findings";
import { findingMarkdown, findingsMarkdown, sentence } from "./findings";

test("Markdown holds all of a finding, and names stay text", () => {
  const hostile: Finding = finding({
    title: "A <img src=x> *title*",
    where: "a`b\n# c",
    evidence: "5 syncs",
    fix: "Do [this](x).",
    caveats: ["Perhaps."],
    advice: [{ id: "x", title: "Cores", fix: "Bind them." }],
  });
  const text = findingMarkdown(hostile, BASIS);
  expect(text).toContain("### A \\<img src=x\\> \\*title\\*");
  expect(text).toContain("``a`b # c``");
  expect(text).toContain("**Evidence**: 5 syncs.");
  expect(text).toContain("\\[this\\](x)");
  expect(text).toContain("- Perhaps.");
  expect(text).toContain("- Cores: Bind them.");
  expect(findingsMarkdown([hostile, hostile], BASIS, "runs/a").match(/^### /gm)).toHaveLength(2);
  expect(sentence("it idled. Then")).toBe("It idled. Then.");
  expect(sentence("for 7.5 us per step, 3 users")).toBe("For 7.5 us per step, 3 users.");
  expect(sentence("")).toBe("");
});
