import { expect, test } from "vitest";

import { foundText } from "./Toolbar";

test("what was found says what is missing", () => {
  const said = (
    hits: number | null,
    state: "none" | "done" | "failed",
    omitted = 0,
  ): string | null => foundText({ hits, kernels: { state, omitted } });
  expect(said(null, "none")).toBeNull();
  expect(said(3, "done")).toBe("3 found");
  expect(said(3, "failed")).toBe("3 found by name only");
  expect(said(2000, "done", 1234)).toMatch(/^2.?000 found, 1.?234 more not shown$/);
});
