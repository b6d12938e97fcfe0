import { hierarchy, partition } from "d3-hierarchy";

import type { Module, ModuleChange, Pair } from "../../api/schema";
import { pathText } from "../../text/names";

/**
 * One block of the difference icicle: as wide as the longer of both sides, with the modules below
 * it. Extents are fractions of the width.
 */
export interface DifferenceBlock {
  /** Of the row of the comparison. */
  readonly id: string;
  readonly name: string;
  readonly left: number;
  readonly width: number;
  readonly level: number;
  /** Of the module and those below it, microseconds per step. */
  readonly change: number;
  /** The change against the largest that is shown, -1 to 1. */
  readonly shade: number;
}

interface Node {
  /** null: above all others. */
  readonly row: ModuleChange | null;
  readonly children: Node[];
  /** The longer side of the module alone. */
  readonly length: number;
  /** Of the module and those below it. */
  change: number;
}

/** Narrower ones cannot be seen; the table has them. */
const LEAST = 0.002;
const MOST_LEVELS = 6;

/** The modules of both sides as one tree, that of the side after; what vanished is by its path. */
export function differenceBlocks(
  changes: readonly ModuleChange[],
  after: readonly Module[],
): DifferenceBlock[] {
  const tree = hierarchy(treeOf(changes, after))
    .eachAfter(({ data, children = [] }) => {
      data.change += children.reduce((all, child) => all + child.data.change, 0);
    })
    .sum(({ length }) => length)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const shown = partition<Node>()(tree)
    .descendants()
    .filter(({ x0, x1, depth }) => depth > 0 && depth <= MOST_LEVELS && x1 - x0 >= LEAST);
  const most = Math.max(0, ...shown.map(({ data }) => Math.abs(data.change)));
  return shown.flatMap(({ data: { row, change }, x0, x1, depth }) =>
    row === null
      ? []
      : {
          id: row.id,
          name: pathText(row.path),
          left: x0,
          width: x1 - x0,
          level: depth - 1,
          change,
          shade: most === 0 ? 0 : change / most,
        },
  );
}

function treeOf(changes: readonly ModuleChange[], after: readonly Module[]): Node {
  const parents = new Map(after.map(({ id, parent_id: parent }) => [id, parent]));
  const byId = new Map<number, Node>();
  const byPath = new Map<string, Node>();
  const nodes = changes.map((row): Node => {
    const sides = [row.forward_us, row.backward_us];
    const node: Node = {
      row,
      children: [],
      length: Math.max(sum(sides, "base"), sum(sides, "other")),
      change: sum(sides, "change"),
    };
    if (row.other_id !== null) byId.set(row.other_id, node);
    byPath.set(row.path, node);
    return node;
  });
  const top: Node = { row: null, children: [], length: 0, change: 0 };
  for (const node of nodes) {
    const id = node.row?.other_id ?? null;
    const parent = id === null ? undefined : byId.get(parents.get(id) ?? -1);
    const above = id === null ? nearest(byPath, node) : parent;
    (above ?? top).children.push(node);
  }
  return top;
}

/** The module of the longest beginning of the path of one that vanished. */
function nearest(byPath: ReadonlyMap<string, Node>, vanished: Node): Node | undefined {
  const parts = vanished.row?.path.split(".") ?? [];
  return parts
    .map((_, at) => byPath.get(parts.slice(0, parts.length - 1 - at).join(".")))
    .find((found) => found !== undefined && found !== vanished);
}

function sum(pairs: readonly Pair[], side: keyof Pair): number {
  return pairs.reduce((all, pair) => all + (pair[side] ?? 0), 0);
}
