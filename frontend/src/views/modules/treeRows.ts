import { compareNumbers, type Sort } from "../../text/numbers";
import type { ModuleNumbers, NumberKey } from "./moduleNumbers";
import type { ModuleTree } from "./moduleTree";

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
