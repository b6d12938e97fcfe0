import type { Comparison } from "../../api/schema";
import { define } from "../../text/definitions";

/** Whether times are means per step; else they are of the traces, which mark no steps. */
export function isPerStep({ base, other }: Pick<Comparison, "base" | "other">): boolean {
  return base.marked || other.marked;
}

/** Totals of a comparison, means per step on both sides. */
export const COMPARE_TOTAL_DEFINITIONS = {
  whole: define(
    "step, on the device",
    "Mean step on the device, from a replay, where it is longer than on the host, which runs ahead of the device that decides it; else on the host.",
    "us",
  ),
  unrecorded: define(
    "step without the profiler (estimate)",
    "Estimate of the mean step without what recording cost the host.",
    "us",
  ),
  stepHost: define(
    "step, on the host",
    "Mean length of the compared steps, on the host's clock.",
    "us",
  ),
  step: define("step", "Mean length of the compared steps, on the host's clock.", "us"),
  busy: define("device busy", "Time per step in which a device did any work.", "us"),
  idle: define("device idle", "Time per step in which the devices had nothing to do.", "us"),
  forward: define("forward, device", "Device time launched in the forward.", "us"),
  backward: define("backward, device", "Device time launched in the backward.", "us"),
  forwardHost: define(
    "forward, host",
    "Host time in the forward, as one side has no device.",
    "us",
  ),
  backwardHost: define(
    "backward, host",
    "Host time in the backward, as one side has no device.",
    "us",
  ),
  unattributed: define(
    "backward, not attributed",
    "The part of the backward that belongs to no known module.",
    "us",
  ),
  blocked: define(
    "host blocked",
    "How long the host waited for the device, without the profiler's own call.",
    "us",
  ),
  syncs: define("syncs", "How often it did.", "count"),
  memory: define("peak memory", "Most bytes allocated at any time in the compared steps.", "bytes"),
} as const;

/** Columns of the tables of a comparison. */
export const COMPARE_DEFINITIONS = {
  module: define(
    "module",
    "A module of either side: found again by path, else by class and place.",
  ),
  sync: define("cause and call site", "Syncs of one cause at one call site."),
  kernel: define("kernel", "Device events of one name."),
  finding: define("finding", "What costs time, and where."),
  status: define(
    "status",
    "Appeared, vanished, moved to another place, changed, or the same; unknown: the other trace names no modules, or on one side calls of the module, or of one whose work it holds, are not seen.",
  ),
  before: define("before", "Mean per step on the side before.", "us"),
  after: define("after", "Mean per step on the side after.", "us"),
  change: define("change", "After minus before; less time is a gain.", "us"),
  effect: define("effect", "The size of the change, whichever way it went.", "us"),
  backward: define("backward", "The change in the module's own backward.", "us"),
  forward: define("forward", "The change in the module's own forward.", "us"),
  blocked: define(
    "host blocked",
    "The change in the time in syncs, in the module and its children.",
    "us",
  ),
  syncs: define("syncs", "The change in the number of syncs per step.", "count"),
  count: define("count", "The change in how often it occurs per step.", "count"),
  idle: define("idle caused", "The change in the device's idle time because of it.", "us"),
  gain: define("gain", "The change in what a replay without it saves.", "us"),
} as const;
