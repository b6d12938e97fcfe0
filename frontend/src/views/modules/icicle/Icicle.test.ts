import { expect, test } from "vitest";

import { narrowLabel } from "./Icicle";

test("a narrow block has the name that fits", () => {
  expect(narrowLabel("blocks.11", 80)).toBe("blocks.11");
  expect(narrowLabel("blocks.11", 60)).toBe("11");
  expect(narrowLabel("BasicBlock_3", 60)).toBe("BasicBlock_3");
});
