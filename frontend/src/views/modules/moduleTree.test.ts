import { expect, test } from "vitest";

import { module, report } from "../../testing/report";
import { buildTree, classText, countBelow, lineage } from "./moduleTree";

const labels = (paths: [string, string | null][]): string[] =>
  buildTree(
    report({ modules: paths.map(([path, parent]) => module(path, parent)) }).modules,
  ).nodes.map((node) => node.label);

test("the tree follows the parents that the report names", () => {
  const tree = buildTree(report().modules);
  expect(tree.roots).toEqual([0]);
  expect(tree.nodes.map((node) => node.children)).toEqual([[1, 4], [2, 3], [], [], []]);
  expect(tree.nodes.map((node) => node.depth)).toEqual([0, 1, 2, 2, 1]);
  expect(tree.levels).toBe(3);
});

test("a label is the tail of the path, with its parent's where it is a bare number", () => {
  expect(
    labels([
      ["", null],
      ["blocks", ""],
      ["blocks.11", "blocks"],
      ["blocks.11.attn", "blocks.11"],
    ]),
  ).toEqual(["(root)", "blocks", "blocks.11", "attn"]);
});

test("names out of Python stacks, which are no paths, are labels as they are", () => {
  expect(
    labels([
      ["ResNet_0", null],
      ["Linear_3", "ResNet_0"],
    ]),
  ).toEqual(["ResNet_0", "Linear_3"]);
});

test("a class that equals the label is not repeated", () => {
  const tree = buildTree([module("Linear_3", null), module("fc", null), module("Linear_x", null)]);
  expect(tree.nodes.map(classText)).toEqual(["", "Linear", "Linear"]);
});

test("a parent that is not there makes a root, not a failure", () => {
  expect(buildTree([module("a.b", "a", { parent_id: 7 })]).roots).toEqual([0]);
});

test("the second of two roots of the same name gets its own children", () => {
  const tree = buildTree([
    module("", null, { id: 0 }),
    module("a", "", { id: 1, parent_id: 0 }),
    module("", null, { id: 2 }),
    module("b", "", { id: 3, parent_id: 2 }),
  ]);
  expect(tree.nodes.map((node) => node.children)).toEqual([[1], [], [3], []]);
  expect(tree.byPath.get("")).toBe(0);
});

test("lineage leads from the root down, countBelow counts what is under it", () => {
  const tree = buildTree(report().modules);
  expect(lineage(tree, 3).map((node) => node.path)).toEqual(["", "blocks", "blocks.1"]);
  expect(countBelow(tree, 0)).toBe(4);
});

test("a module inside a compiled region says so", () => {
  const tree = buildTree([module("", null), module("fc", "", { compiled: true })]);
  expect(tree.nodes.map(classText)).toEqual(["Linear", "Linear compiled"]);
});
