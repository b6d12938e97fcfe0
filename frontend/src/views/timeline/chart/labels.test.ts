import { expect, test } from "vitest";

import { tileFrom } from "../data/blocks";
import { windowOf } from "../testing";
import { blocksToLabel, fitPath, fitText, labelText, measureBy } from "./labels";

const asked: string[] = [];
const measure = measureBy((text) => {
  asked.push(text);
  return text.length * 10;
});

test("plain texts are measured by their characters, others once", () => {
  asked.length = 0;
  expect(measure("abc")).toBe(30);
  expect(measure("طبقة")).toBe(40);
  expect(measure("طبقة")).toBe(40);
  expect(asked).toEqual(["طبقة"]);
});

test.each([
  ["conv", 40, "conv"],
  ["convolution", 70, "convol…"],
  ["convolution", 30, null],
  ["k".repeat(10_000), 1e6, `${"k".repeat(120)}…`],
])("%.20s in %d pixels", (text, room, shown) => {
  expect(fitText(text, room, measure)).toBe(shown);
});

test.each([
  ["blocks.3.attention", 200, "blocks.3.attention"],
  ["blocks.3.attention", 120, "3.attention"],
  ["blocks.3.attention", 100, "attention"],
  ["blocks.3.attention", 60, "atten…"],
  ["blocks.3.attention", 20, null],
])("the path %s in %d pixels", (text, room, shown) => {
  expect(fitPath(text, room, measure)).toBe(shown);
});

test("labelled is what has room in view", () => {
  const blocks = tileFrom(
    windowOf({
      a: [
        { start: 0, duration: 20, depth: 0, name: "begins before" },
        { start: 20, duration: 1, depth: 0, name: "short" },
        { start: 25, duration: 10, depth: 0, name: "whole" },
      ],
    }),
  ).blocks.get("a");
  if (blocks === undefined) throw new Error("no lane");
  const span = { from: 10, to: 60 };
  expect(blocksToLabel(blocks, 0, span, span, 500, 50)).toEqual([
    { index: 0, left: 0, right: 100 },
    { index: 2, left: 150, right: 250 },
  ]);
});

test("a node is called by its own name", () => {
  expect(labelText("autograd::engine::evaluate_function: MulBackward0")).toBe("MulBackward0");
  expect(labelText("aten::mul")).toBe("aten::mul");
});
