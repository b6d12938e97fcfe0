import { useCallback, useMemo, useState } from "react";

import type { Place } from "../../address/place";
import type { ReportData } from "../../api/schema";
import { frameLine, ownFrame } from "../../report/chain";
import {
  filterSyncs,
  summarizeSyncs,
  type SyncRow,
  syncRows,
  type SyncSummary,
} from "../../report/syncs";
import { pathText } from "../../text/names";
import { compareValues, groupBy, type Sort } from "../../text/numbers";
import type { SyncTableRow } from "./columns";

export type SyncSortKey =
  "what" | "count" | "blocked" | "idle" | "longest" | "phase" | "module" | "start";

/** Syncs of one cause, those of one place in the code among them, or a single one. */
export interface SyncNode {
  /** `cause:…`, `site:` and the first event's id, or the event's id: what an address names. */
  readonly id: string;
  readonly kind: "cause" | "site" | "event";
  readonly level: number;
  /** The events below, in order of time; one for an event. */
  readonly rows: readonly SyncRow[];
  readonly sum: SyncSummary;
  readonly children: readonly SyncNode[];
}

/** Syncs by cause, then by call site, then one by one; a site of one sync is that sync. */
export function syncTree(rows: readonly SyncRow[]): SyncNode[] {
  const byTime = [...rows].sort((a, b) => a.start - b.start);
  return [...groupBy(byTime, ({ sync }) => sync.cause)].map(([cause, ofCause]) =>
    node(
      `cause:${cause}`,
      "cause",
      1,
      ofCause,
      [...groupBy(ofCause, siteKey)].map(([, ofSite]) => site(ofSite)),
    ),
  );
}

/** The node of an address. A site is known by any of its events, as a filter may hide its first. */
export function findNode(nodes: readonly SyncNode[], id: string | null): SyncNode | null {
  if (id === null) return null;
  const event = id.startsWith("site:") ? id.slice("site:".length) : null;
  for (const each of nodes) {
    if (each.id === id) return each;
    if (event !== null && each.level === 2 && each.rows.some((row) => row.id === event)) {
      return each;
    }
    const below = findNode(each.children, id);
    if (below !== null) return below;
  }
  return null;
}

/** Ids of the nodes above the one of that id, from the top. */
export function nodesAbove(nodes: readonly SyncNode[], id: string): string[] {
  for (const each of nodes) {
    if (each.children.some((child) => child.id === id)) return [each.id];
    const below = nodesAbove(each.children, id);
    if (below.length > 0) return [each.id, ...below];
  }
  return [];
}

/** Sort siblings at every level; missing values come last either way. */
export function sortTree(nodes: readonly SyncNode[], sort: Sort): SyncNode[] {
  const sign = sort.descending ? -1 : 1;
  const key = sort.key as SyncSortKey;
  const compare = (a: SyncNode, b: SyncNode): number =>
    compareValues(valueOf(a, key), valueOf(b, key), sign);
  return [...nodes]
    .sort((a, b) => compare(a, b) || startOf(a) - startOf(b))
    .map((each) => ({ ...each, children: sortTree(each.children, sort) }));
}

/** Rows to show from top to bottom. */
export function visibleNodes(
  nodes: readonly SyncNode[],
  isOpen: (node: SyncNode) => boolean,
): SyncNode[] {
  return nodes.flatMap((each) =>
    each.children.length > 0 && isOpen(each)
      ? [each, ...visibleNodes(each.children, isOpen)]
      : [each],
  );
}

/** What all events of a node have in common; null where they differ or none has it. */
export function common(
  node: SyncNode,
  of: (row: SyncRow) => string | null,
): { value: string | null; different: number } {
  const values = new Set(node.rows.map(of));
  const [first = null] = values;
  return values.size === 1
    ? { value: first, different: 1 }
    : { value: null, different: values.size };
}

/** The longest of a node's syncs, which stands for them. */
export function longestOf(node: SyncNode): SyncRow | null {
  return node.rows.reduce<SyncRow | null>(
    (most, row) => (most === null || row.sync.duration_us > most.sync.duration_us ? row : most),
    null,
  );
}

/** The operator a sync was made in, else its autograd node, else the call itself. */
export function placeText({ sync }: SyncRow): string {
  return sync.operator ?? sync.node ?? sync.api;
}

/** The line of Python to look at, in short; null where the trace holds none. */
export function lineText({ sync }: SyncRow): string | null {
  const frame = ownFrame(sync.stack);
  return frame === null ? null : frameLine(frame);
}

export function moduleText({ sync }: SyncRow): string | null {
  return sync.module === null ? null : pathText(sync.module);
}

/** What a cell of the table holds, as sorting and copying see it. */
export function valueOf(node: SyncNode, key: SyncSortKey): string | number | null {
  if (key === "what") return whatText(node);
  if (key === "count") return node.rows.length;
  if (key === "start") return startOf(node);
  if (key === "phase") return common(node, ({ sync }) => sync.phase).value;
  if (key === "module") return common(node, moduleText).value;
  return node.sum[key];
}

/** A node's name, without what the nodes above it say. */
export function whatText(node: SyncNode): string {
  const [first] = node.rows;
  if (first === undefined) return "";
  return node.kind === "cause" ? first.sync.cause : placeText(first);
}

function site(rows: SyncRow[]): SyncNode {
  const [first] = rows;
  const events = rows.map((row) => node(row.id, "event", 3, [row], []));
  if (rows.length === 1 && events[0] !== undefined) return { ...events[0], level: 2 };
  return node(`site:${first?.id ?? ""}`, "site", 2, rows, events);
}

function node(
  id: string,
  kind: SyncNode["kind"],
  level: number,
  rows: readonly SyncRow[],
  children: readonly SyncNode[],
): SyncNode {
  return { id, kind, level, rows, children, sum: summarizeSyncs(rows.map(({ sync }) => sync)) };
}

/** Module, autograd node, operator and line; where no operator asked for it, the call. */
function siteKey(row: SyncRow): string {
  const { module_id: module, node: inNode, operator, stack } = row.sync;
  return JSON.stringify([module, inNode, operator, ownFrame(stack), placeText(row)]);
}

function startOf(each: SyncNode): number {
  return each.rows[0]?.start ?? 0;
}

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
