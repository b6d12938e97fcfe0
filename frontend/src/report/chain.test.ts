import { expect, test } from "vitest";

import type { ChainLink } from "../api/schema";
import { sync } from "../testing/report";
import { chainLines, chainText, frameLine, frameShort, ownFrame } from "./chain";

test("the chain leads from the call outwards to the Python lines, the step and the phase", () => {
  const text = chainText(
    sync({ duration_us: 118_400, stack: ["model.py(60): forward", "train.py(7): step"] }),
    (path) => (path === "head" ? "Linear" : null),
  );
  expect(text.split("\n")).toEqual([
    "cudaStreamSynchronize  118.4 ms",
    "└ aten::item",
    "  └ IndexBackward0",
    "    └ head (Linear)",
    "      └ model.py(60): forward",
    "      └ train.py(7): step",
    "        └ ProfilerStep#1, backward",
  ]);
});

test("links that the trace does not hold are left out of the chain", () => {
  const bare = sync({ operator: null, node: null, module: "", step: null, phase: "other" });
  expect(chainText(bare, () => null)).toBe(
    "cudaStreamSynchronize  5.0 us\n└ (root)\n  └ not in a step, other",
  );
});

test("the line to look at is the innermost outside of torch", () => {
  const own = "src/models/head.py(60): forward";
  expect(ownFrame(["torch/nn/modules/module.py(1): _call_impl", own, "train.py(7): step"])).toBe(
    own,
  );
  expect(ownFrame(["/venv/lib/site-packages/torch/_tensor.py(3): item", own])).toBe(own);
  expect(
    ownFrame(["<string>(1): <module>", "torch\\cuda\\__init__.py(9): synchronize"]),
  ).toBeNull();
  expect(ownFrame([])).toBeNull();
  expect(ownFrame(["my_torch/train.py(3): step"])).toBe("my_torch/train.py(3): step");
});

test("a line in short is its file and number", () => {
  expect(frameLine("src/models/head.py(60): forward")).toBe("head.py:60");
  expect(frameLine("C:\\code\\head.py(60): forward")).toBe("head.py:60");
  expect(frameLine("<built-in method item>")).toBe("<built-in method item>");
});

test("a long path keeps its last folder", () => {
  expect(frameShort("/app/src/models/head.py(60): forward")).toBe("…/models/head.py(60): forward");
  expect(frameShort("C:\\code\\src\\head.py(60): forward")).toBe("…/src\\head.py(60): forward");
  expect(frameShort("models/head.py(60): a/b")).toBe("models/head.py(60): a/b");
  expect(frameShort("<built-in method item>")).toBe("<built-in method item>");
});

test("the chain is indented, its Python lines by one", () => {
  const chain: ChainLink[] = [
    { kind: "operator", text: "aten::item", id: 4 },
    { kind: "line", text: "a.py(1): f", id: null },
    { kind: "line", text: "b.py(2): g", id: null },
  ];
  const lines = chainLines({ name: "cudaStreamSynchronize", chain });
  expect(lines.map(({ indent, text }) => indent + text)).toEqual([
    "cudaStreamSynchronize",
    "└ aten::item",
    "  └ a.py(1): f",
    "  └ b.py(2): g",
  ]);
});
