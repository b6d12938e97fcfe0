import { counted } from "../../text/formats";
import { compareNumbers } from "../../text/numbers";
import type { Grouping } from "./address";
import type { ModuleNumbers } from "./moduleNumbers";
import type { ModuleNode, ModuleTree } from "./moduleTree";

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
  const groups = new Map<string, Group>();
  for (const node of base.nodes) {
    const label = by === "class" ? node.className : `level ${node.depth + 1}`;
    const group = groups.get(label);
    if (group === undefined) groups.set(label, { label, members: [node] });
    else group.members.push(node);
  }
  return [...groups.values()];
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
