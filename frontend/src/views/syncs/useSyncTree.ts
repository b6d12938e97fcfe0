import { useCallback, useMemo, useState } from "react";

import type { Place } from "../../address/place";
import type { ReportData } from "../../api/schema";
import { filterSyncs, syncRows, type SyncRow } from "../../report/syncs";
import type { Sort } from "../../text/numbers";
import type { SyncTableRow } from "./columns";
import { findNode, nodesAbove, sortTree, syncTree, visibleNodes, type SyncNode } from "./syncTree";

/** Number of syncs up to which everything is open at first. */
const FEW = 16;

export interface SyncTree {
  all: readonly SyncRow[];
  /** Those that fit search and filters. */
  fitting: readonly SyncRow[];
  tree: readonly SyncNode[];
  rows: SyncTableRow[];
  /** The node of the address, whether it fits the filters or not. */
  selected: SyncNode | null;
  fold: (id: string, open: boolean) => void;
  /** Open or close every call site. */
  foldAll: (open: boolean) => void;
  reveal: (id: string) => void;
}

/** The syncs of a report as a tree, as address and folds have it. */
export function useSyncTree(report: ReportData, place: Place, sort: Sort): SyncTree {
  const { search, phase, cause } = place;
  const { key, descending } = sort;
  const all = useMemo(() => syncRows(report), [report]);
  const fitting = useMemo(
    () => filterSyncs(all, { search, phase, cause }),
    [all, search, phase, cause],
  );
  const tree = useMemo(
    () => sortTree(syncTree(fitting), { key, descending }),
    [fitting, key, descending],
  );
  const selected = useMemo(
    () => findNode(tree, place.sync) ?? findNode(syncTree(all), place.sync),
    [tree, all, place.sync],
  );
  const few = all.length <= FEW;
  // Folds that differ from what a row is at first: causes open, call sites closed.
  const [turned, setTurned] = useState<ReadonlySet<string>>(() =>
    few || place.sync === null ? NONE : new Set(sitesAbove(tree, place.sync)),
  );
  const isOpen = useCallback(
    (node: SyncNode): boolean =>
      search !== "" || (few || node.kind === "cause") !== turned.has(node.id),
    [search, few, turned],
  );
  const rows = useMemo(
    () =>
      visibleNodes(tree, isOpen).map((node) => ({
        node,
        open: node.children.length === 0 ? null : isOpen(node),
      })),
    [tree, isOpen],
  );
  const fold = useCallback(
    (id: string, open: boolean) => {
      const first = few || id.startsWith("cause:");
      setTurned((before) => withId(before, id, open !== first));
    },
    [few],
  );
  return {
    all,
    fitting,
    tree,
    rows,
    selected,
    fold,
    foldAll: (open) => {
      const sites = tree.flatMap((each) => each.children).filter((each) => each.kind === "site");
      setTurned(new Set(open === few ? [] : sites.map(({ id }) => id)));
    },
    reveal: (id) => {
      for (const site of nodesAbove(tree, id)) fold(site, true);
    },
  };
}

const NONE: ReadonlySet<string> = new Set();

function sitesAbove(tree: readonly SyncNode[], id: string): string[] {
  return nodesAbove(tree, id).filter((above) => above.startsWith("site:"));
}

function withId(ids: ReadonlySet<string>, id: string, wanted: boolean): Set<string> {
  const after = new Set(ids);
  if (wanted) after.add(id);
  else after.delete(id);
  return after;
}
