import type { Module } from "../../api/schema";
import { counted } from "../../text/formats";
import { pathText } from "../../text/names";
import { compareNumbers, groupBy, type Sort } from "../../text/numbers";
import type { Grouping } from "./address";
import type { ModuleNumbers, NumberKey } from "./moduleNumbers";

/** One module instance, or a group of them, and its place in the tree. */
export interface ModuleNode {
  readonly index: number;
  /** The module's row in the report, null for a group. */
  readonly module: number | null;
  /** Rows of the report whose totals add up to this one's: those of a group that are in no other. */
  readonly tops: readonly number[];
  readonly path: string;
  readonly className: string;
  /** Whether it runs inside a compiled region, where nothing of it can be seen. */
  readonly compiled: boolean;
  /** What is written where the row stands below its parent: the tail of the path. */
  readonly label: string;
  readonly depth: number;
  readonly parent: number | null;
  readonly children: number[];
}

export interface ModuleTree {
  readonly nodes: readonly ModuleNode[];
  readonly roots: readonly number[];
  /** First row with that path. */
  readonly byPath: ReadonlyMap<string, number>;
  /** Number of levels, 0 for no modules. */
  readonly levels: number;
}

/** Build the tree from the report's rows, which hold parents before children. */
export function buildTree(modules: readonly Module[]): ModuleTree {
  const nodes: ModuleNode[] = [];
  const roots: number[] = [];
  const byPath = new Map<string, number>();
  const byId = new Map<number, number>();
  let levels = 0;
  modules.forEach((module, index) => {
    const parent = module.parent_id === null ? undefined : byId.get(module.parent_id);
    const above = parent === undefined ? undefined : nodes[parent];
    const depth = above === undefined ? 0 : above.depth + 1;
    nodes.push({
      index,
      module: index,
      tops: [index],
      path: module.path,
      className: module.class,
      compiled: module.compiled,
      label: labelOf(module.path, above?.path),
      depth,
      parent: parent ?? null,
      children: [],
    });
    if (above === undefined) roots.push(index);
    else above.children.push(index);
    if (!byPath.has(module.path)) byPath.set(module.path, index);
    byId.set(module.id, index);
    levels = Math.max(levels, depth + 1);
  });
  return { nodes, roots, byPath, levels };
}

/** The chain from the root to `index`, itself included. */
export function lineage(tree: ModuleTree, index: number): ModuleNode[] {
  const chain: ModuleNode[] = [];
  for (let at: number | null = index; at !== null;) {
    const node: ModuleNode | undefined = tree.nodes[at];
    if (node === undefined) break;
    chain.unshift(node);
    at = node.parent;
  }
  return chain;
}

/** The first module with that path; null for none. */
export function indexOfPath(tree: ModuleTree, path: string | null): number | null {
  return path === null ? null : (tree.byPath.get(path) ?? null);
}

/** Number of modules below `index`, itself not counted. */
export function countBelow(tree: ModuleTree, index: number): number {
  const children = tree.nodes[index]?.children ?? [];
  return children.reduce((sum, child) => sum + 1 + countBelow(tree, child), 0);
}

/** The class, where the label does not say it already: names from Python stacks are `Linear_3`. */
export function classText(node: ModuleNode): string {
  const said =
    node.label.startsWith(node.className) &&
    /^(_\d+)?$/.test(node.label.slice(node.className.length));
  const text = said ? "" : node.className;
  return node.compiled ? `${text} compiled`.trim() : text;
}

function labelOf(path: string, parentPath: string | undefined): string {
  if (path === "") return pathText(path);
  if (parentPath === undefined || parentPath === "" || !path.startsWith(`${parentPath}.`))
    return path;
  const tail = path.slice(parentPath.length + 1);
  // A bare number says nothing: blocks.11 rather than 11.
  return /^\d+$/.test(tail) ? `${parentPath.slice(parentPath.lastIndexOf(".") + 1)}.${tail}` : tail;
}

interface Group {
  label: string;
  members: ModuleNode[];
}

/**
 * The modules in groups, every instance once: a tree of two levels. A group's total is that of
 * those of its modules that lie in no other of them, so that nothing is counted twice.
 */
export function groupTree(base: ModuleTree, by: Grouping): ModuleTree {
  if (by === "instance" || base.nodes.length === 0) return base;
  const nodes: ModuleNode[] = [];
  const roots: number[] = [];
  const byPath = new Map<string, number>();
  for (const { label, members } of groupsOf(base, by)) {
    const index = nodes.length;
    const children = members.map((_, at) => index + 1 + at);
    roots.push(index);
    nodes.push({
      index,
      module: null,
      tops: topsOf(base, members),
      path: label,
      className: counted(members.length, "module"),
      compiled: false,
      label,
      depth: 0,
      parent: null,
      children,
    });
    for (const member of members) {
      const at = nodes.length;
      if (!byPath.has(member.path)) byPath.set(member.path, at);
      const label = member.path === "" ? member.label : member.path;
      nodes.push({ ...member, index: at, label, depth: 1, parent: index, children: [] });
    }
  }
  return { nodes, roots, byPath, levels: 2 };
}

/** The modules of a group with their self times, most expensive first. */
export function groupMembers(
  tree: ModuleTree,
  numbers: readonly ModuleNumbers[],
  group: number,
): { node: ModuleNode; self: number | null }[] {
  return (tree.nodes[group]?.children ?? [])
    .flatMap((child) => {
      const node = tree.nodes[child];
      return node === undefined ? [] : [{ node, self: numbers[child]?.self ?? null }];
    })
    .sort((a, b) => compareNumbers(a.self, b.self, -1));
}

/** The row of a group; null where the tree has none of that label. */
export function indexOfGroup(tree: ModuleTree, label: string | null): number | null {
  const found = tree.roots.find((root) => {
    const node = tree.nodes[root];
    return node?.module === null && node.label === label;
  });
  return found ?? null;
}

function groupsOf(base: ModuleTree, by: Grouping): Group[] {
  const labelOfNode = (node: ModuleNode): string =>
    by === "class" ? node.className : `level ${node.depth + 1}`;
  return [...groupBy(base.nodes, labelOfNode)].map(([label, members]) => ({ label, members }));
}

/** The members that lie below no other member. */
function topsOf(base: ModuleTree, members: readonly ModuleNode[]): number[] {
  const inside = new Set(members.map((member) => member.index));
  const covered = (node: ModuleNode): boolean => {
    for (let at = node.parent; at !== null; at = base.nodes[at]?.parent ?? null) {
      if (inside.has(at)) return true;
    }
    return false;
  };
  return members.filter((member) => !covered(member)).map((member) => member.index);
}

/** Siblings in the order they are shown; the tree itself stays as it is. */
export interface TreeOrder {
  readonly roots: readonly number[];
  readonly children: readonly (readonly number[])[];
}

export interface SearchResult {
  readonly hits: ReadonlySet<number>;
  /** The hits and everything above them. */
  readonly shown: ReadonlySet<number>;
}

/** Sort siblings within their parent; missing numbers come last either way. */
export function orderTree(
  tree: ModuleTree,
  numbers: readonly ModuleNumbers[],
  sort: Sort,
): TreeOrder {
  const compare = comparator(tree, numbers, sort);
  const arrange = (indices: readonly number[]): readonly number[] =>
    compare === null ? indices : [...indices].sort(compare);
  return { roots: arrange(tree.roots), children: tree.nodes.map((node) => arrange(node.children)) };
}

/**
 * Modules whose path or class holds the text, whatever its case; null for an empty search.
 *
 * @param byKernel paths that are found too: of modules whose kernels hold the text.
 */
export function searchTree(
  tree: ModuleTree,
  text: string,
  byKernel: ReadonlySet<string> = new Set(),
): SearchResult | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  const hits = new Set<number>();
  const shown = new Set<number>();
  for (const node of tree.nodes) {
    // The label of a group is no path.
    const launches = node.module !== null && byKernel.has(node.path);
    if (!launches && !matches(node.path, wanted) && !matches(node.className, wanted)) continue;
    hits.add(node.index);
    for (let at: number | null = node.index; at !== null && !shown.has(at);) {
      shown.add(at);
      at = tree.nodes[at]?.parent ?? null;
    }
  }
  return { hits, shown };
}

/** Rows to show from top to bottom. A search shows all it keeps, folded or not. */
export function visibleRows(
  order: TreeOrder,
  expanded: ReadonlySet<number>,
  search: SearchResult | null,
): number[] {
  const rows: number[] = [];
  const stack = [...order.roots].reverse();
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (search !== null && !search.shown.has(at)) continue;
    rows.push(at);
    if (search === null && !expanded.has(at)) continue;
    const children = order.children[at] ?? [];
    for (const child of [...children].reverse()) stack.push(child);
  }
  return rows;
}

/** The folds that show `levels` levels of the tree. */
export function expandedToLevel(tree: ModuleTree, levels: number): Set<number> {
  const open = tree.nodes.filter((node) => node.children.length > 0 && node.depth < levels - 1);
  return new Set(open.map((node) => node.index));
}

/** As many levels as fit into `rows` rows, two at least. */
export function fittingLevel(tree: ModuleTree, rows: number): number {
  const counts: number[] = [];
  for (const node of tree.nodes) counts[node.depth] = (counts[node.depth] ?? 0) + 1;
  let sum = 0;
  let level = 0;
  while (level < counts.length) {
    sum += counts[level] ?? 0;
    if (sum > rows && level >= 2) break;
    level += 1;
  }
  return level;
}

function comparator(
  tree: ModuleTree,
  numbers: readonly ModuleNumbers[],
  sort: Sort,
): ((a: number, b: number) => number) | null {
  const sign = sort.descending ? -1 : 1;
  if (sort.key === "order") return sort.descending ? (a, b) => b - a : null;
  if (sort.key === "module") {
    const collator = new Intl.Collator("en", { numeric: true });
    const path = (index: number): string => tree.nodes[index]?.path ?? "";
    return (a, b) => sign * collator.compare(path(a), path(b)) || a - b;
  }
  const key = sort.key as NumberKey;
  return (a, b) => compareNumbers(numbers[a]?.[key], numbers[b]?.[key], sign) || a - b;
}

function matches(name: string, wanted: string): boolean {
  return name.toLowerCase().includes(wanted);
}
