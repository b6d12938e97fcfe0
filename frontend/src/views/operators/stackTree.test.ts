import { expect, test } from "vitest";

import { barsOf, framesOf, sandwich, stackTree, type Calls, type Frame } from "./stackTree";

const CALLS: Calls[] = [
  { frames: ["main", "loss", "aten::mul"], us: 10 },
  { frames: ["main", "block", "attend", "aten::mm"], us: 30 },
  { frames: ["main", "head", "attend", "aten::mul"], us: 60 },
];

const written = ({ name, us, inside }: Frame): string =>
  `${name} ${us}${inside.length === 0 ? "" : ` (${inside.map(written).join(", ")})`}`;

test("a stack is the lines outside of torch, from the outermost to the operator", () => {
  const stack =
    "torch/nn/modules/module.py(1): _call_impl\na/b/model.py(7): forward\nrun.py(1): main";
  expect(framesOf(stack, "aten::mm")).toEqual([
    "run.py(1): main",
    "…/b/model.py(7): forward",
    "aten::mm",
  ]);
  expect(framesOf("", "aten::mm")).toEqual(["aten::mm"]);
});

test("stacks are added up, the most expensive first", () => {
  expect(written(stackTree("", CALLS))).toBe(
    " 100 (main 100 (head 60 (attend 60 (aten::mul 60)), block 30 (attend 30 (aten::mm 30)), loss 10 (aten::mul 10)))",
  );
});

test("around a frame are its callers, innermost first, and what it calls", () => {
  const { callers, callees } = sandwich("attend", CALLS);
  expect(written(callers)).toBe("attend 90 (head 60 (main 60), block 30 (main 30))");
  expect(written(callees)).toBe("attend 90 (aten::mul 60, aten::mm 30)");
});

test("a frame that calls itself counts once", () => {
  expect(sandwich("f", [{ frames: ["f", "f", "g"], us: 5 }]).callees.us).toBe(5);
});

test("bars lie within the frame around them, and too narrow ones are left out", () => {
  const bars = barsOf(stackTree("", CALLS), 2, 0.2, false);
  expect(bars.map(({ frame, left, width, level }) => [frame.name, left, width, level])).toEqual([
    ["main", 0, 1, 0],
    ["head", 0, 0.6, 1],
    ["block", 0.6, 0.3, 1],
  ]);
});

test("of frames that only call each other the last is a bar, and the operator in it", () => {
  const bars = barsOf(stackTree("", CALLS), 3, 0.2, true);
  expect(bars.map(({ frame, level }) => [frame.name, level])).toEqual([
    ["main", 0],
    ["attend", 1],
    ["aten::mul", 2],
    ["attend", 1],
    ["aten::mm", 2],
  ]);
});
