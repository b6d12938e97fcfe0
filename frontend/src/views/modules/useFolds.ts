import { useCallback, useState } from "react";

import { indexOfPath, lineage, type ModuleTree } from "./moduleTree";
import { expandedToLevel, fittingLevel } from "./treeRows";

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
  const fold = useCallback((index: number, open: boolean) => {
    setExpanded((before) => {
      const after = new Set(before);
      if (open) after.add(index);
      else after.delete(index);
      return after;
    });
  }, []);
  return {
    expanded,
    fold,
    toLevel: (levels) => {
      setExpanded(expandedToLevel(tree, levels));
    },
    reveal: (index) => {
      setExpanded((before) => withLineage(before, tree, index));
    },
  };
}

function withLineage(open: ReadonlySet<number>, tree: ModuleTree, index: number): Set<number> {
  const above = lineage(tree, index).slice(0, -1);
  return new Set([...open, ...above.map((node) => node.index)]);
}
