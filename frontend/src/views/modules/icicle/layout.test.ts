import { expect, test } from "vitest";

import { module, report, work } from "../../../testing/report";
import type { Grouping } from "../address";
import { moduleNumbers } from "../moduleNumbers";
import { buildTree, groupTree, orderTree } from "../moduleTree";
import { type Block, type IcicleInput, layoutIcicle } from "./layout";

const chosen = { quantity: "backward", clock: "device", averaging: "total" } as const;

function input(
  given = report(),
  rest: Partial<IcicleInput> = {},
  by: Grouping = "instance",
): IcicleInput {
  const base = buildTree(given.modules);
  const tree = groupTree(base, by);
  const numbers = moduleNumbers(given, base, tree, chosen);
  const order = orderTree(tree, numbers, { key: "total", descending: true });
  return { tree, order, numbers, zoom: null, rest: 1, levels: 9, least: 0, ...rest };
}

/** One line per level, as in "blocks.1 0-40". */
function picture(blocks: readonly Block[], of: IcicleInput): string[] {
  const lines: string[] = [];
  for (const block of blocks) {
    const node = block.module === null ? undefined : of.tree.nodes[block.module];
    const name = node?.label ?? `${block.kind}${block.count > 1 ? `*${block.count}` : ""}`;
    const [from, to] = [block.left, block.left + block.width].map((x) => Math.round(x * 100));
    const before = lines[block.level];
    lines[block.level] = `${before === undefined ? "" : `${before} | `}${name} ${from}-${to}`;
  }
  return lines;
}

test("widths are totals, self time stays free at the right, the rest has a block", () => {
  const given = input();
  expect(picture(layoutIcicle(given), given)).toEqual([
    "(root) 0-90 | rest 90-100",
    "blocks 0-60 | head 60-80",
    "blocks.1 0-40 | blocks.0 40-60",
  ]);
});

test("a zoomed module fills the width, without the rest", () => {
  const given = input(report(), { zoom: 1 });
  expect(picture(layoutIcicle(given), given)).toEqual([
    "blocks 0-100",
    "blocks.1 0-67 | blocks.0 67-100",
  ]);
});

test("no more levels than asked for are drawn", () => {
  expect(layoutIcicle(input(report(), { levels: 1 }))).toHaveLength(2);
});

test("the deepest shade is the largest self time, none is 0", () => {
  const shades = layoutIcicle(input()).map((block) => [block.module, block.shade]);
  expect(shades).toContainEqual([3, 1]);
  expect(shades).toContainEqual([1, 0]);
});

test("narrow neighbours are merged, their time and number summed", () => {
  const small = Array.from({ length: 50 }, (_, i) => module(`s${i}`, null, { backward: work(1) }));
  const given = input(
    report({ modules: [module("big", null, { backward: work(950) }), ...small] }),
    {
      rest: 0,
      least: 0.01,
    },
  );
  const blocks = layoutIcicle(given);
  expect(picture(blocks, given)).toEqual(["big 0-95 | merged*50 95-100"]);
  expect(blocks[1]?.value).toBe(50);
});

test("groups are as wide as the self times of their modules", () => {
  const given = input(report(), {}, "class");
  expect(picture(layoutIcicle(given), given)).toEqual([
    "Model 0-10 | Block 10-70 | Linear 70-90 | rest 90-100",
    "(root) 0-10 | blocks.1 10-50 | blocks.0 50-70 | head 70-90",
  ]);
});

test("nothing measured, nothing drawn", () => {
  expect(layoutIcicle(input(report({ modules: [] }), { rest: 0 }))).toEqual([]);
  const idle = report({ modules: [module("a", null, { backward: work(null) })] });
  expect(layoutIcicle(input(idle, { rest: 0 }))).toEqual([]);
});
