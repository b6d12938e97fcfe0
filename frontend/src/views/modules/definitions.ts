/**
 * What every number means, in one sentence: the source of tooltips and of the last part of
 * docs/reference/definitions.md (`npm run definitions`).
 */

import { CompiledRegion, NodeUse } from "../../api/fields";
import { define, defineField, type Definition } from "../../text/definitions";
import type { ChosenQuantity } from "./quantity";

/** Figures above the fold. */
export const FIGURE_DEFINITIONS = {
  step: define("step", "Mean length of the measured steps, on the host's clock.", "us"),
  backwardDevice: define(
    "backward, device",
    "Sum of the durations of all device events launched inside an autograd node, communication included. Streams overlap, so it may exceed the step.",
    "us",
  ),
  backwardHost: define("backward, host", "Host time of all autograd node evaluations.", "us"),
  ratioDevice: define(
    "backward / forward",
    "Device time of the backward over that of the forward, both without communication.",
    "times",
  ),
  ratioHost: define(
    "backward / forward",
    "Length of the backward phase over that of the forward, on the host.",
    "times",
  ),
  forwardDevice: define(
    "forward, device",
    "Sum of the durations of all device events launched in the forward pass. Streams overlap, so it may exceed the step.",
    "us",
  ),
  forwardHost: define("forward, host", "Length of the forward phase on the host.", "us"),
  idle: define("device idle", "How long the devices had nothing to do, in all phases.", "us"),
  blockedAnywhere: define(
    "host blocked",
    "How long the host was blocked in syncs of all phases and launched nothing, without the profiler's own.",
    "us",
  ),
  syncs: define(
    "syncs in backward",
    "How often the host waited for the device during the backward.",
    "count",
  ),
  blocked: define(
    "host blocked in backward",
    "How long the host was blocked in syncs of the backward and launched nothing, without the profiler's own.",
    "us",
  ),
  backwardIdle: define(
    "device idle in backward",
    "How long the devices had nothing to do while the host was in the backward pass.",
    "us",
  ),
  attributed: define(
    "attributed",
    "Share of the backward time that is known to belong to a module; annotations don't count.",
    "fraction",
  ),
} as const;

const BELOW = ", including children.";
const ALONE = ", excluding children.";

/** Columns of time in the table of modules, by what is shown. */
export const MODULE_TIME_DEFINITIONS = {
  ...pair(
    "forwardDevice",
    "device",
    "Device time, summed over streams, launched in this module's forward, without communication",
  ),
  ...pair("forwardHost", "host", "Host time of this module's calls"),
  ...pair(
    "backwardDevice",
    "device",
    "Device time, summed over streams, of kernels, copies and sets launched in this module's backward, without communication",
  ),
  ...pair("backwardHost", "host", "Host time of this module's autograd nodes"),
  ...pair(
    "recomputeDevice",
    "device",
    "Device time, summed over streams, of this module's work that ran again in the backward (checkpointing)",
  ),
  ...pair(
    "recomputeHost",
    "host",
    "Host time of this module's work that ran again in the backward (checkpointing)",
  ),
  ...pair(
    "communicationDevice",
    "device",
    "Device time, summed over streams, of collectives in this module's forward and backward",
  ),
} as const;

type TimeKey = `${ChosenQuantity["quantity"]}${"Device" | "Host"}${"Total" | "Self"}`;

/** The other columns of the table of modules. */
export const MODULE_DEFINITIONS = {
  module: define("module", "Qualified name of the module instance, and its class."),
  class: define("class", "All modules of a class; below it, each instance."),
  copiedClass: define("class", "The module's class."),
  depth: define("level", "All modules of one level of the tree; below it, each instance."),
  calls: define(
    "calls",
    "How often the module was called, outside of the backward pass; unknown where its calls are not in the trace.",
    "count",
  ),
  overTime: define(
    "over time",
    "What each call cost, from the first to the last, relative to the most expensive call of the row.",
  ),
  share: define(
    "share",
    "The total, as a share of all such time in the selected steps.",
    "fraction",
  ),
  forward: define(
    "forward",
    "Forward time of this module including children, drawn to the scale of the total.",
    "us",
  ),
  communication: define(
    "comm.",
    "Device time of collectives in the same work, in addition to the total: they run in the hook of whichever module came last.",
    "us",
  ),
  host: define("host", "Host time of the same work, including children.", "us"),
  ratio: define(
    "bwd / fwd",
    "Backward time of this module divided by its forward time, both without communication.",
    "times",
  ),
  kernels: define(
    "kernels",
    "Kernels launched in the same work, including children; copies and sets not counted.",
    "count",
  ),
  blocked: define(
    "host blocked",
    "How long the host was in syncs, in any phase, including children and without the profiler's own; red where the device idled for 1% of the step meanwhile.",
    "us",
  ),
  idle: define(
    "idle caused",
    "How long the device had nothing to do because of these syncs.",
    "us",
  ),
} as const;

/** What the panel of one module says. */
export const MODULE_PANEL_DEFINITIONS = {
  source: define(
    "source",
    "Where the class is defined, as hookview recorded it; otherwise where its forward begins, from Python stacks.",
  ),
  collectives: define(
    "collectives",
    "Device time of collectives in the same work, in addition to the device time above.",
    "us",
  ),
  tensorCore: define(
    "tensor cores",
    "Share of the device time in kernels that are known to run on tensor (matrix) cores.",
    "fraction",
  ),
  occupancy: define(
    "occupancy",
    "Mean estimated occupancy of the kernels, weighted by duration, as the profiler reports it.",
  ),
  kernelLoading: define(
    "lazy kernel loading",
    "The part of the host times, including children, that went into the first use of kernels: charged once, to whichever module comes first.",
    "us",
  ),
  kind: define("kind of work", "Device time by what its kernels do, from their names."),
  kernel: define("kernels", "Device events by name, forward or backward, most expensive first."),
  node: define(
    "autograd nodes",
    "Nodes of the backward graph by name; device time is this module's own work inside them.",
  ),
  call: define(
    "calls over time",
    "One bar per call: its forward below the line, its backward above, to one scale.",
  ),
  unplaced: define(
    "in no call",
    "Time of the module outside of its calls: shared gradients, and parts that ran on their own.",
    "us",
  ),
  parameters: define(
    "parameters",
    "Parameter elements of the module itself; a shared parameter counts at its first module.",
  ),
  shapes: define("shapes", "Input shapes of the first operator of each call, most frequent first."),
} as const;

/** Columns of the tables of autograd nodes. */
export const NODE_DEFINITIONS = {
  count: defineField("count", NodeUse.count),
  device: define("device", "Device work launched inside these evaluations.", "us"),
  host: define("host", "Time of the evaluations, without those nested in them.", "us"),
} as const;

/** Columns of the table of compiled code. */
export const COMPILED_DEFINITIONS = {
  operators: define(
    "operators",
    "Those in the name of a kernel that Inductor generated, else the call; between operators it is the code around kernels.",
  ),
  region: define("region", "Id of the compiled region; of a backward, that of its forward."),
  calls: defineField("calls", CompiledRegion.calls),
  device: defineField("device", CompiledRegion.device_us),
  host: defineField("host", CompiledRegion.host_us),
} as const;

/** What the columns of total and self time mean for a chosen quantity. */
export function timeDefinitions({ quantity, clock }: ChosenQuantity): {
  total: Definition;
  self: Definition;
} {
  const side = clock === "device" ? "Device" : "Host";
  const known: Partial<Record<TimeKey, Definition>> = MODULE_TIME_DEFINITIONS;
  const missing = MODULE_DEFINITIONS.host;
  return {
    total: known[`${quantity}${side}Total`] ?? missing,
    self: known[`${quantity}${side}Self`] ?? missing,
  };
}

function pair<Key extends string>(
  key: Key,
  clock: string,
  what: string,
): Record<`${Key}Total` | `${Key}Self`, Definition> {
  return {
    [`${key}Total`]: define(`${clock} total`, what + BELOW, "us"),
    [`${key}Self`]: define(`${clock} self`, what + ALONE, "us"),
  } as Record<`${Key}Total` | `${Key}Self`, Definition>;
}
