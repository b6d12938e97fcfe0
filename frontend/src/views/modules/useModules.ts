import { useCallback, useMemo, useState } from "react";

import type { ReportData } from "../../api/schema";
import type { Sort } from "../../text/numbers";
import type { Grouping } from "./address";
import { moduleNumbers, type ModuleNumbers } from "./moduleNumbers";
import {
  buildTree,
  expandedToLevel,
  fittingLevel,
  groupTree,
  indexOfPath,
  lineage,
  type ModuleTree,
  orderTree,
  type SearchResult,
  searchTree,
  type TreeOrder,
} from "./moduleTree";
import { chooseQuantity, type ChosenQuantity, type Wanted } from "./quantity";

export const MOST_EXPENSIVE_FIRST: Sort = { key: "total", descending: true };

/** The report's modules for a chosen quantity, ready for icicle, table and panel. */
export interface Modules {
  chosen: ChosenQuantity;
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
  report: ReportData,
  wanted: Wanted & { group: Grouping },
  sort: Sort,
  text: string,
  byKernel: ReadonlySet<string>,
): Modules {
  const { quantity, clock, averaging, group } = wanted;
  const chosen = useMemo(
    () => chooseQuantity(report, { quantity, clock, averaging }),
    [report, quantity, clock, averaging],
  );
  const base = useMemo(() => buildTree(report.modules), [report]);
  const tree = useMemo(() => groupTree(base, group), [base, group]);
  const numbers = useMemo(
    () => moduleNumbers(report, base, tree, chosen),
    [report, base, tree, chosen],
  );
  const { key, descending } = sort;
  const order = useMemo(
    () => orderTree(tree, numbers, { key, descending }),
    [tree, numbers, key, descending],
  );
  const search = useMemo(() => searchTree(tree, text, byKernel), [tree, text, byKernel]);
  return { chosen, grouping: group, base, tree, numbers, order, search };
}

const ROWS_AT_FIRST = 40;

export interface Folds {
  expanded: ReadonlySet<number>;
  fold: (index: number, open: boolean) => void;
  toLevel: (levels: number) => void;
  /** Unfold everything above a module. */
  reveal: (index: number) => void;
}

export function useFolds(tree: ModuleTree, selected: string | null): Folds {
  const [expanded, setExpanded] = useState<ReadonlySet<number>>(() => {
    const grouped = tree.nodes[0]?.module === null && tree.nodes.length > ROWS_AT_FIRST;
    const levels = grouped ? 1 : fittingLevel(tree, ROWS_AT_FIRST);
    const first = expandedToLevel(tree, levels);
    const index = indexOfPath(tree, selected);
    return index === null ? first : withLineage(first, tree, index);
  });
  const fold = useCallback(
    (index: number, open: boolean) =>
      setExpanded((before) => {
        const after = new Set(before);
        if (open) after.add(index);
        else after.delete(index);
        return after;
      }),
    [],
  );
  return {
    expanded,
    fold,
    toLevel: (levels) => setExpanded(expandedToLevel(tree, levels)),
    reveal: (index) => setExpanded((before) => withLineage(before, tree, index)),
  };
}

function withLineage(open: ReadonlySet<number>, tree: ModuleTree, index: number): Set<number> {
  const above = lineage(tree, index).slice(0, -1);
  return new Set([...open, ...above.map((node) => node.index)]);
}

/** What binds icicle and table: the same module selected and hovered in both. */
export interface SharedSelection {
  selected: number | null;
  hovered: number | null;
  onHover: (index: number | null) => void;
}
