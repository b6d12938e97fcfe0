import { expect, test } from "vitest";

import { report, sync } from "../../testing/report";
import { syncRows, type SyncRow } from "../../report/syncs";
import {
  common,
  findNode,
  lineText,
  longestOf,
  moduleText,
  nodesAbove,
  placeText,
  sortTree,
  syncTree,
  visibleNodes,
  type SyncNode,
  type SyncSortKey,
} from "./syncTree";

const stack = ["torch/_tensor.py(1): item", "train.py(7): step"];
const all = syncRows(
  report({
    syncs: [
      sync({ start_us: 1050, duration_us: 7, cause: "copy", operator: null, node: null }),
      sync({ start_us: 1010, duration_us: 5, phase: "forward", stack }),
      sync({ start_us: 1020, duration_us: 50, stack, device_idle_us: null }),
      sync({ start_us: 1030, duration_us: 1, module: null, node: null, phase: "other" }),
      sync({ start_us: 1040, duration_us: 2, stack: ["train.py(8): step"] }),
    ],
  }),
);
const tree = syncTree(all);
const outline = (nodes: readonly SyncNode[]): unknown[] =>
  nodes.map((node) => (node.children.length === 0 ? node.id : [node.id, outline(node.children)]));
const by = (key: SyncSortKey, descending = true): unknown[] =>
  outline(sortTree(tree, { key, descending }));

test("syncs are grouped by cause, then by module, node, operator and line, in order of time", () => {
  expect(outline(tree)).toEqual([
    ["cause:scalar-read", [["site:1", ["1", "2"]], "3", "4"]],
    ["cause:copy", ["0"]],
  ]);
});

test("every sync is in one site of one cause, and sums are those of its syncs", () => {
  const leaves = (node: SyncNode): readonly SyncRow[] =>
    node.children.length === 0 ? node.rows : node.children.flatMap(leaves);
  const found = tree.flatMap(leaves);
  expect(found).toHaveLength(all.length);
  expect(new Set(found)).toEqual(new Set(all));
  expect(tree.map(({ sum }) => [sum.blocked, sum.longest, sum.idle])).toEqual([
    [58, 50, 6],
    [7, 7, 2],
  ]);
});

test("siblings are sorted at every level, what is not known last", () => {
  expect(by("blocked")).toEqual([
    ["cause:scalar-read", [["site:1", ["2", "1"]], "4", "3"]],
    ["cause:copy", ["0"]],
  ]);
  expect(by("blocked", false)[0]).toEqual(["cause:copy", ["0"]]);
  expect(by("start")[0]).toEqual(["cause:copy", ["0"]]);
  expect(by("idle", false)[1]).toEqual(["cause:scalar-read", [["site:1", ["1", "2"]], "3", "4"]]);
  expect(by("module", false)[1]).toEqual(["cause:scalar-read", [["site:1", ["1", "2"]], "4", "3"]]);
  expect(by("what", false)[0]).toEqual(["cause:copy", ["0"]]);
});

test("an address finds its node, a site by any of its syncs; what is unknown is ignored", () => {
  expect(findNode(tree, "cause:copy")?.rows).toHaveLength(1);
  expect(findNode(tree, "site:2")?.id).toBe("site:1");
  expect(findNode(tree, "site:3")?.id).toBe("3");
  expect(findNode(tree, "2")?.kind).toBe("event");
  expect(findNode(tree, "1010.5")).toBeNull();
  expect(findNode(tree, null)).toBeNull();
});

test("what is above a node is known from the top", () => {
  expect(nodesAbove(tree, "2")).toEqual(["cause:scalar-read", "site:1"]);
  expect(nodesAbove(tree, "3")).toEqual(["cause:scalar-read"]);
  expect(nodesAbove(tree, "cause:copy")).toEqual([]);
});

test("only open nodes show what is below", () => {
  const ids = (open: string[]): string[] =>
    visibleNodes(tree, (node) => open.includes(node.id)).map(({ id }) => id);
  expect(ids([])).toEqual(["cause:scalar-read", "cause:copy"]);
  expect(ids(["cause:scalar-read"])).toEqual([
    "cause:scalar-read",
    "site:1",
    "3",
    "4",
    "cause:copy",
  ]);
  expect(ids(["site:1"])).toEqual(["cause:scalar-read", "cause:copy"]);
});

test("what syncs have in common is shown, else how many values there are", () => {
  const [reads] = tree as [SyncNode];
  expect(common(reads, ({ sync: { api } }) => api)).toEqual({
    value: "cudaStreamSynchronize",
    different: 1,
  });
  expect(common(reads, moduleText)).toEqual({ value: null, different: 2 });
  expect(common(reads, ({ sync: { phase } }) => phase).different).toBe(3);
  expect(longestOf(reads)?.id).toBe("2");
});

test("a place is an operator, else a node, else the call", () => {
  const [row] = syncRows(report({ syncs: [sync({ operator: null })] })) as [SyncRow];
  expect(placeText(row)).toBe("IndexBackward0");
  expect(placeText({ ...row, sync: sync({ operator: null, node: null }) })).toBe(
    "cudaStreamSynchronize",
  );
  expect(lineText({ ...row, sync: sync({ stack }) })).toBe("train.py:7");
  expect(lineText(row)).toBeNull();
});
