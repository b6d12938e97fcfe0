import { useMemo } from "react";

import type { WireReport } from "../../api/types";
import { groupTree, type Grouping } from "./groups";
import { lensOf, type Lens, type Wanted } from "./lens";
import { moduleNumbers, type ModuleNumbers } from "./moduleNumbers";
import { buildTree, type ModuleTree } from "./moduleTree";
import { orderTree, searchTree, type SearchResult, type Sort, type TreeOrder } from "./treeRows";

export const DEAREST_FIRST: Sort = { key: "total", descending: true };

/** The report's modules through a lens, ready for icicle, table and panel. */
export interface Modules {
  lens: Lens;
  grouping: Grouping;
  /** The tree of instances, whose rows are the report's. */
  base: ModuleTree;
  /** What is shown: the same, or groups of them. */
  tree: ModuleTree;
  numbers: readonly ModuleNumbers[];
  order: TreeOrder;
  search: SearchResult | null;
}

export function useModules(
  report: WireReport,
  wanted: Wanted & { group: Grouping },
  sort: Sort,
  text: string,
  byKernel: ReadonlySet<string>,
): Modules {
  const { quantity, clock, averaging, group } = wanted;
  const lens = useMemo(
    () => lensOf(report, { quantity, clock, averaging }),
    [report, quantity, clock, averaging],
  );
  const base = useMemo(() => buildTree(report.modules), [report]);
  const tree = useMemo(() => groupTree(base, group), [base, group]);
  const numbers = useMemo(
    () => moduleNumbers(report, base, tree, lens),
    [report, base, tree, lens],
  );
  const { key, descending } = sort;
  const order = useMemo(
    () => orderTree(tree, numbers, { key, descending }),
    [tree, numbers, key, descending],
  );
  const search = useMemo(() => searchTree(tree, text, byKernel), [tree, text, byKernel]);
  return { lens, grouping: group, base, tree, numbers, order, search };
}
