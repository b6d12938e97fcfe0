import { useMemo } from "react";

import type { WireReport } from "../../api/types";
import { moduleNumbers, type Averaging, type ModuleNumbers } from "../../model/measures";
import { buildTree, type ModuleTree } from "../../model/moduleTree";
import {
  orderTree,
  searchTree,
  type SearchResult,
  type Sort,
  type TreeOrder,
} from "../../model/treeRows";

export const DEAREST_FIRST: Sort = { key: "total", descending: true };

/** The report's modules, ready for icicle, table and panel. */
export interface Modules {
  tree: ModuleTree;
  numbers: readonly ModuleNumbers[];
  order: TreeOrder;
  search: SearchResult | null;
}

export function useModules(
  report: WireReport,
  averaging: Averaging,
  sort: Sort,
  text: string,
): Modules {
  const tree = useMemo(() => buildTree(report.modules), [report]);
  const numbers = useMemo(() => moduleNumbers(report, tree, averaging), [report, tree, averaging]);
  const { key, descending } = sort;
  const order = useMemo(
    () => orderTree(tree, numbers, { key, descending }),
    [tree, numbers, key, descending],
  );
  const search = useMemo(() => searchTree(tree, text), [tree, text]);
  return { tree, numbers, order, search };
}
