import { inTimeline } from "../../../address/links";
import type { Place } from "../../../address/place";
import type {
  Amount,
  CallRow,
  CallsOverTime,
  KernelUse,
  Module,
  ModuleDetail,
  NodeUse,
  ReportData,
  Work,
} from "../../../api/schema";
import { ratio } from "../../../text/numbers";
import { callField } from "../quantity";

/** Which work of a module is listed. */
export const SIDES = ["forward", "backward", "recompute"] as const;
export type Side = (typeof SIDES)[number];

/** Of the module alone, or including its children. */
export const SCOPES = ["below", "self"] as const;
export type Scope = (typeof SCOPES)[number];

export interface KernelRow {
  kernel: KernelUse;
  count: number;
  us: number;
  /** Against all device time of that side and scope, 0 to 1. */
  share: number;
}

/** The kernels of one side and scope, most expensive first. */
export function kernelRows(detail: ModuleDetail, side: Side, scope: Scope): KernelRow[] {
  const { kernels, kernels_omitted: omitted } = detail;
  const amounts = kernels.map((kernel) => amountOf(kernel[side], scope));
  const rest = omitted === null ? null : amountOf(omitted[side], scope);
  const whole = amounts.reduce((sum, [, us]) => sum + us, rest?.[1] ?? 0);
  return kernels
    .map((kernel, index): KernelRow => {
      const [count, us] = amounts[index] ?? [0, 0];
      return { kernel, count, us, share: whole > 0 ? us / whole : 0 };
    })
    .filter((row) => row.count > 0)
    .sort((a, b) => b.us - a.us);
}

export function amountOf(amount: Amount, scope: Scope): [count: number, us: number] {
  return scope === "self"
    ? [amount.self_count, amount.self_device_us]
    : [amount.count, amount.device_us];
}

export interface NodeRow {
  name: string;
  count: number;
  host: number;
  device: number | null;
}

/** The autograd nodes of a scope, most expensive on the device first, then on the host. */
export function nodeRows(nodes: readonly NodeUse[], scope: Scope): NodeRow[] {
  const rows = nodes.map((node): NodeRow => {
    const { name } = node;
    return scope === "self"
      ? { name, count: node.self_count, host: node.self_host_us, device: node.self_device_us }
      : { name, count: node.count, host: node.host_us, device: node.device_us };
  });
  return rows
    .filter((row) => row.count > 0 || row.host > 0 || (row.device ?? 0) > 0)
    .sort((a, b) => (b.device ?? 0) - (a.device ?? 0) || b.host - a.host);
}

export interface KindRow {
  kind: string;
  forward: number;
  backward: number;
}

/** Device time by kind of work, most expensive first; empty where the trace holds none. */
export function kindRows(module: Module): KindRow[] {
  const forward = module.forward.by_kind ?? {};
  const backward = module.backward.by_kind ?? {};
  const kinds = [...new Set([...Object.keys(backward), ...Object.keys(forward)])];
  return kinds
    .map((kind) => ({ kind, forward: forward[kind] ?? 0, backward: backward[kind] ?? 0 }))
    .filter((row) => row.forward + row.backward > 0)
    .sort((a, b) => b.forward + b.backward - a.forward - a.backward);
}

/** Share of a direction's device time, without collectives, on tensor cores; null without any. */
export function tensorCoreShare(work: Work): number | null {
  return ratio(work.tensor_core_us, work.compute_us);
}

/** One call of the chart; heights are against the most expensive, 0 to 1. */
export interface CallBar {
  call: CallRow;
  /** First and last number of the calls it stands for, from 1. */
  first: number;
  last: number;
  forward: number;
  backward: number;
}

/** Mean cost of the calls that a row stands for, by a clock. */
export function costOf(
  call: CallRow,
  clock: "device" | "host",
): { forward: number; backward: number } {
  return {
    forward: (call[callField("forward", clock)] ?? 0) / call.calls,
    backward: (call[callField("backward", clock)] ?? 0) / call.calls,
  };
}

/** The calls as bars, both directions to one scale. */
export function callBars(calls: CallsOverTime, clock: "device" | "host"): CallBar[] {
  const costs = calls.rows.map((call) => costOf(call, clock));
  const most = Math.max(0, ...costs.flatMap(({ forward, backward }) => [forward, backward]));
  let before = 0;
  return calls.rows.map((call, index): CallBar => {
    const { forward, backward } = costs[index] ?? { forward: 0, backward: 0 };
    const first = before + 1;
    before += call.calls;
    const scale = most > 0 ? most : 1;
    return { call, first, last: before, forward: forward / scale, backward: backward / scale };
  });
}

type Traced = Pick<ReportData, "trace">;

/** Where the timeline shows a call's forward. */
export function forwardInTimeline(report: Traced, call: CallRow): Partial<Place> {
  return inTimeline(report, call.start_us, call.duration_us);
}

/** Where the timeline shows a call's backward; null where it has none. */
export function backwardInTimeline(report: Traced, call: CallRow): Partial<Place> | null {
  return call.backward_start_us === null
    ? null
    : inTimeline(report, call.backward_start_us, call.backward_duration_us ?? 0);
}
