import type { Module, ReportData } from "../../api/schema";
import { divisor, isUnseen, selfTime } from "../../report/measures";
import { lostIn } from "../../report/syncs";
import { over, ratio, sumOf, without } from "../../text/numbers";
import type { ModuleNode, ModuleTree } from "./moduleTree";
import { totalOf, wholeOf, workOf, type ChosenQuantity } from "./quantity";

/** The numbers of one row, for a chosen quantity; null: not in the trace. */
export interface ModuleNumbers {
  calls: number | null;
  total: number | null;
  self: number | null;
  /** The total against all time of the quantity, 0 to 1. */
  share: number | null;
  /** The same quantity's forward, by the same clock. */
  forward: number | null;
  /** Collectives in the same work, which are not in the total; null where there is no device time. */
  communication: number | null;
  host: number | null;
  ratio: number | null;
  kernels: number | null;
  syncs: number | null;
  blocked: number | null;
  idle: number | null;
  /** The part of its host times that went into the first use of kernels. */
  loading: number | null;
  /** The part of its self time, by the quantity's clock, that is compiled code with no modules. */
  lump: number | null;
  /** Host sync of this row less that of the rows below it. */
  ownBlocked: number;
  /** What of that is lost (`lostIn`). */
  ownLost: number;
  /** What the row adds to the picture by itself: its self time, nothing for a group. */
  alone: number;
}

export type NumberKey = Exclude<keyof ModuleNumbers, "ownBlocked" | "ownLost" | "alone">;

/**
 * One row of numbers per node of `tree`.
 *
 * @param base the tree of instances, whose rows are the report's.
 * @param tree the same, or one of groups of them.
 */
export function moduleNumbers(
  report: ReportData,
  base: ModuleTree,
  tree: ModuleTree,
  chosen: ChosenQuantity,
): ModuleNumbers[] {
  const whole = wholeOf(report, chosen);
  const by = divisor(report, chosen.averaging);
  const below = (index: number, pick: (module: Module) => number | null): number =>
    sumOf((base.nodes[index]?.children ?? []).map((child) => at(report, child, pick))) ?? 0;
  const own = report.modules.map((module, index): Own => {
    const communicates = chosen.quantity === "communication";
    const self = communicates
      ? without(
          totalOf(module, chosen),
          below(index, (child) => totalOf(child, chosen)),
        )
      : selfOf(module, chosen);
    const blocked = without(
      module.sync.blocked_us,
      below(index, (child) => child.sync.blocked_us),
    );
    const idle = without(
      module.sync.device_idle_us,
      below(index, (child) => child.sync.device_idle_us),
    );
    return {
      self,
      blocked: Math.max(0, blocked ?? 0),
      lost: Math.max(0, lostIn(blocked, idle) ?? 0),
    };
  });
  return tree.nodes.map((node) => rowOf({ report, tree, chosen, own, by, whole }, node));
}

interface Own {
  self: number | null;
  blocked: number;
  lost: number;
}

interface Context {
  report: ReportData;
  tree: ModuleTree;
  chosen: ChosenQuantity;
  own: readonly Own[];
  by: number;
  whole: number | null;
}

function rowOf(context: Context, node: ModuleNode): ModuleNumbers {
  const { report, chosen, own, by, whole } = context;
  const members = membersOf(context.tree, node);
  const sum = (pick: (module: Module) => number | null): number | null =>
    sumOf(node.tops.map((top) => at(report, top, pick)));
  const total = sum((module) => totalOf(module, chosen));
  const self = sumOf(members.map((member) => own[member]?.self ?? null));
  const { quantity, clock } = chosen;
  const backward = sum((module) => totalOf(module, { ...chosen, quantity: "backward" }));
  const forward = sum((module) => totalOf(module, { ...chosen, quantity: "forward" }));
  return {
    calls: over(sumOf(members.map((member) => at(report, member, callsOf))), by),
    total: over(total, by),
    self: over(self, by),
    share: ratio(total, whole),
    forward: over(forward, by),
    communication:
      clock === "host"
        ? null
        : over(
            sum((module) => workOf(module, quantity)?.communication_us ?? null),
            by,
          ),
    host: over(
      sum((module) => workOf(module, quantity)?.host_us ?? null),
      by,
    ),
    ratio: ratio(backward, forward),
    kernels: over(
      sum((module) => workOf(module, quantity)?.kernels ?? null),
      by,
    ),
    syncs: over(
      sum((module) => module.sync.count),
      by,
    ),
    blocked: over(
      sum((module) => module.sync.blocked_us),
      by,
    ),
    idle: over(
      sum((module) => module.sync.device_idle_us),
      by,
    ),
    loading: over(
      sum((module) => module.kernel_loading_us),
      by,
    ),
    lump: over(sumOf(members.map((member) => at(report, member, (m) => lumpOf(m, clock)))), by),
    ownBlocked: members.reduce((all, member) => all + (own[member]?.blocked ?? 0), 0) / by,
    ownLost: members.reduce((all, member) => all + (own[member]?.lost ?? 0), 0) / by,
    alone: node.module === null ? 0 : Math.max(0, self ?? 0) / by,
  };
}

function callsOf(module: Module): number | null {
  return isUnseen(module) ? null : module.calls;
}

function lumpOf({ compiled_lump: lump }: Module, clock: ChosenQuantity["clock"]): number | null {
  if (lump === null) return null;
  return clock === "device" ? lump.device_us : lump.host_us;
}

/** Rows of the report in a row of the table: the module itself, or all of a group. */
export function membersOf(tree: ModuleTree, node: ModuleNode): number[] {
  if (node.module !== null) return [node.module];
  return node.children.flatMap((child) => tree.nodes[child]?.module ?? []);
}

function selfOf(module: Module, chosen: ChosenQuantity): number | null {
  const work = workOf(module, chosen.quantity);
  return work === null ? null : selfTime(work, chosen.clock);
}

function at(
  report: ReportData,
  index: number,
  pick: (module: Module) => number | null,
): number | null {
  const module = report.modules[index];
  return module === undefined ? null : pick(module);
}
