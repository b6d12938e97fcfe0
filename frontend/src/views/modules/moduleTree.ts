import type { Module } from "../../api/schema";
import { pathText } from "../../text/names";

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
