import { expect, test } from "vitest";

import { module, report, work } from "../../testing/report";
import { compareNumbers, type Sort } from "../../text/numbers";
import { moduleNumbers } from "./moduleNumbers";
import {
  buildTree,
  expandedToLevel,
  fittingLevel,
  groupTree,
  type ModuleTree,
  orderTree,
  searchTree,
  visibleRows,
} from "./moduleTree";

const chosen = { quantity: "backward", clock: "device", averaging: "total" } as const;
const given = report();
const tree = buildTree(given.modules);
const numbers = moduleNumbers(given, tree, tree, chosen);
const byTotal: Sort = { key: "total", descending: true };

function paths(of: ModuleTree, rows: number[]): string[] {
  return rows.map((index) => of.nodes[index]?.path ?? "?");
}

function shown(sort: Sort, expanded: ReadonlySet<number>, text = ""): string[] {
  return paths(tree, visibleRows(orderTree(tree, numbers, sort), expanded, searchTree(tree, text)));
}

test("siblings are sorted within their parent, the tree stays", () => {
  const all = expandedToLevel(tree, 9);
  expect(shown(byTotal, all)).toEqual(["", "blocks", "blocks.1", "blocks.0", "head"]);
  expect(shown({ key: "total", descending: false }, all)).toEqual([
    "",
    "head",
    "blocks",
    "blocks.0",
    "blocks.1",
  ]);
});

test("names sort as people count", () => {
  const many = buildTree([module("b.10", null), module("b.9", null)]);
  const order = orderTree(many, [], { key: "module", descending: false });
  expect(paths(many, [...order.roots])).toEqual(["b.9", "b.10"]);
});

test("a key that no column has leaves the report's order", () => {
  expect(shown({ key: "nonsense", descending: true }, expandedToLevel(tree, 9))).toEqual([
    "",
    "blocks",
    "blocks.0",
    "blocks.1",
    "head",
  ]);
});

test("missing numbers come last either way", () => {
  const rows = report({
    modules: [
      module("none", null, { backward: work(null) }),
      module("much", null, { backward: work(5) }),
      module("little", null, { backward: work(1) }),
    ],
  });
  const flat = buildTree(rows.modules);
  const values = moduleNumbers(rows, flat, flat, chosen);
  const roots = (descending: boolean): string[] =>
    paths(flat, [...orderTree(flat, values, { key: "total", descending }).roots]);
  expect(roots(true)).toEqual(["much", "little", "none"]);
  expect(roots(false)).toEqual(["little", "much", "none"]);
  expect(compareNumbers(null, undefined, 1)).toBe(0);
});

test("what is folded is not shown", () => {
  expect(shown(byTotal, new Set())).toEqual([""]);
  expect(shown(byTotal, new Set([0]))).toEqual(["", "blocks", "head"]);
});

test("a search shows what fits path or class, and all above it, folded or not", () => {
  expect(shown(byTotal, new Set(), "BLOCKS.1")).toEqual(["", "blocks", "blocks.1"]);
  expect(shown(byTotal, new Set(), "block")).toEqual(["", "blocks", "blocks.1", "blocks.0"]);
  expect(shown(byTotal, new Set(), "linear")).toEqual(["", "head"]);
  expect(shown(byTotal, new Set(), "nowhere")).toEqual([]);
  expect(searchTree(tree, "  ")).toBeNull();
});

test("modules are found by their kernels too, and groups by those of their modules", () => {
  const found = (of: ModuleTree): string[] =>
    paths(of, [...(searchTree(of, "gemm", new Set(["head", "gone"]))?.shown ?? [])].sort());
  expect(found(tree)).toEqual(["", "head"]);
  expect(found(groupTree(tree, "depth"))).toEqual(["level 2", "head"]);
  expect(searchTree(tree, "", new Set(["head"]))).toBeNull();
});

test("levels unfold from the top", () => {
  expect([...expandedToLevel(tree, 1)]).toEqual([]);
  expect([...expandedToLevel(tree, 2)]).toEqual([0]);
  expect([...expandedToLevel(tree, 3)]).toEqual([0, 1]);
});

test("as many levels open at first as fit, two at least", () => {
  expect(fittingLevel(tree, 100)).toBe(3);
  expect(fittingLevel(tree, 3)).toBe(2);
  expect(fittingLevel(tree, 1)).toBe(2);
  expect(fittingLevel(buildTree([]), 10)).toBe(0);
});
