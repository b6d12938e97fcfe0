import { hierarchy, type HierarchyRectangularNode, partition } from "d3-hierarchy";
import { scaleSqrt } from "d3-scale";

import type { ModuleNumbers } from "../moduleNumbers";
import type { ModuleTree, TreeOrder } from "../moduleTree";

/**
 * One block of the icicle. Horizontal extents are fractions of the width, so that resizing needs
 * no new layout.
 *
 *     level 0 | model                          | rest |
 *     level 1 | blocks               | head |
 *     level 2 | blocks.0 | blocks.1  |
 *
 * A module's block is as wide as its total; what its children leave free at the right is its own.
 * A group's block is as wide as the self times of its modules together.
 */
export interface Block {
  /** A module's index, null for a merged block and for the rest. */
  readonly module: number | null;
  readonly kind: "module" | "merged" | "rest";
  readonly left: number;
  readonly width: number;
  readonly level: number;
  readonly value: number;
  /** Self time against the largest self time shown, 0 to 1. */
  readonly shade: number;
  /** Blocks merged into this one: 1 where none are. */
  readonly count: number;
}

export interface IcicleInput {
  tree: ModuleTree;
  order: TreeOrder;
  numbers: readonly ModuleNumbers[];
  /** Module whose subtree fills the width, null for all. */
  zoom: number | null;
  /** Time that belongs to no module; a block of its own when all is shown. */
  rest: number;
  levels: number;
  /** Blocks narrower than this fraction are merged with their neighbours. */
  least: number;
}

interface Datum {
  module: number | null;
  kind: "module" | "rest" | "all";
}

type Placed = HierarchyRectangularNode<Datum>;

export function layoutIcicle(input: IcicleInput): Block[] {
  const root = place(input);
  if (root.value === undefined || root.value <= 0) return [];
  const lift = input.zoom === null ? 1 : 0;
  const shown = root
    .descendants()
    .filter(
      (node) => node.data.kind !== "all" && node.depth - lift < input.levels && node.x1 > node.x0,
    );
  const shade = shadeScale(shown, input.numbers);
  const blocks = shown.map((node): Block => ({
    module: node.data.module,
    kind: node.data.kind === "rest" ? "rest" : "module",
    left: node.x0,
    width: node.x1 - node.x0,
    level: node.depth - lift,
    value: node.value ?? 0,
    shade: shade(own(input.numbers, node.data.module)),
    count: 1,
  }));
  return mergeNarrow(blocks, input.least);
}

function place(input: IcicleInput): Placed {
  const { order, numbers, zoom, rest } = input;
  const top: Datum =
    zoom === null ? { module: null, kind: "all" } : { module: zoom, kind: "module" };
  const below = (datum: Datum): Datum[] => {
    if (datum.kind === "rest") return [];
    const indices = datum.module === null ? order.roots : (order.children[datum.module] ?? []);
    const modules = indices.map((module): Datum => ({ module, kind: "module" }));
    return datum.kind === "all" && rest > 0
      ? [...modules, { module: null, kind: "rest" }]
      : modules;
  };
  // Self times sum up to totals: that every microsecond is in one module is the report's promise.
  const tree = hierarchy(top, below).sum((datum) =>
    datum.kind === "rest" ? rest : own(numbers, datum.module),
  );
  return partition<Datum>()(tree);
}

function own(numbers: readonly ModuleNumbers[], module: number | null): number {
  return module === null ? 0 : Math.max(0, numbers[module]?.alone ?? 0);
}

function shadeScale(
  shown: readonly Placed[],
  numbers: readonly ModuleNumbers[],
): (value: number) => number {
  const largest = Math.max(0, ...shown.map((node) => own(numbers, node.data.module)));
  return largest === 0 ? () => 0 : scaleSqrt().domain([0, largest]).range([0, 1]).clamp(true);
}

/** Join neighbours of one level that are too narrow to be seen; their sums remain. */
function mergeNarrow(blocks: readonly Block[], least: number): Block[] {
  const levels: Block[][] = [];
  for (const block of blocks) (levels[block.level] ??= []).push(block);
  return levels.flatMap((level) => mergeLevel(level, least));
}

function mergeLevel(level: readonly Block[], least: number): Block[] {
  const merged: Block[] = [];
  for (const block of [...level].sort((a, b) => a.left - b.left)) {
    const last = merged.at(-1);
    const touches = last !== undefined && block.left - (last.left + last.width) < least / 2;
    if (touches && block.width < least && isNarrow(last, least)) {
      merged[merged.length - 1] = join(last, block);
    } else merged.push(block);
  }
  return merged;
}

function isNarrow(block: Block, least: number): boolean {
  return block.kind === "merged" || block.width < least;
}

function join(a: Block, b: Block): Block {
  return {
    module: null,
    kind: "merged",
    left: a.left,
    width: b.left + b.width - a.left,
    level: a.level,
    value: a.value + b.value,
    shade: Math.max(a.shade, b.shade),
    count: a.count + b.count,
  };
}
