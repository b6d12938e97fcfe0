import { expect, test } from "vitest";

import { compact, OPERATOR_DETAILS } from "./columns";

test("shapes are one line, whatever the trace wrote between them", () => {
  expect(compact("[\n    [\n        16,\n        64\n    ],\n    []\n]")).toBe("[[16, 64], []]");
  expect(compact("[[16, 64], []]")).toBe("[[16, 64], []]");
});

test("rows of one operator differ by what they are grouped by", () => {
  const row = {
    shapes: "[ [ 2 ] ]",
    stack: "a.py(1): f\nb.py(2): g",
    module: "head",
    phase: "forward",
  };
  expect(OPERATOR_DETAILS.shape?.(row)).toBe("[[2]]");
  expect(OPERATOR_DETAILS.stack?.(row)).toBe("a.py(1): f");
  expect(OPERATOR_DETAILS.module?.(row)).toBe("head forward");
  expect(OPERATOR_DETAILS.name).toBeUndefined();
});
