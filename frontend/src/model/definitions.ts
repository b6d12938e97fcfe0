/** What every number means, in one sentence; columns and figures take their tooltips from here. */

export interface Definition {
  readonly title: string;
  readonly text: string;
}

const define = (title: string, text: string): Definition => ({ title, text });

/** Columns of the table of modules. */
export const MODULE_DEFINITIONS = {
  module: define("module", "Qualified name of the module instance, and its class."),
  calls: define("calls", "How often the module was called, outside of the backward pass."),
  deviceTotal: define(
    "device total",
    "Device time of kernels, copies and sets launched in the backward of this module and of all modules below it.",
  ),
  deviceSelf: define(
    "device self",
    "Device time launched in the backward of this module alone, without the modules below it.",
  ),
  hostTotal: define(
    "host total",
    "Host time of the autograd nodes that belong to this module and to all modules below it.",
  ),
  hostSelf: define(
    "host self",
    "Host time of the autograd nodes that belong to this module alone.",
  ),
  share: define("share", "The total, as a share of all backward time of the selected steps."),
  communication: define(
    "of it comm.",
    "The part of the total that is communication: collectives on this module's gradients.",
  ),
  host: define(
    "host",
    "Host time of the autograd nodes that belong to this module and to all modules below it.",
  ),
  ratio: define(
    "bwd / fwd",
    "Backward time of this module, communication left out, divided by its forward time.",
  ),
  kernels: define(
    "kernels",
    "Kernels launched in the backward of this module and below it; copies and sets not counted.",
  ),
  syncs: define(
    "syncs",
    "How often the host waited for the device, in any phase, in this module and below it.",
  ),
  wait: define(
    "sync wait",
    "How long the host was blocked by these waits; red from 1% of the step.",
  ),
  idle: define("idle caused", "How long the device had nothing to do because of these waits."),
} as const;

/** Columns of the table of host-blocking calls. */
export const SYNC_DEFINITIONS = {
  api: define("call", "The runtime call that blocked the host."),
  cause: define("cause", "Why the host had to wait."),
  step: define("step", "The profiler's step in which the call began."),
  phase: define("phase", "Forward, backward, optimizer, data, or other."),
  module: define("module", "The module that the call is attributed to."),
  node: define("autograd node", "The node of the backward pass in which the call was made."),
  operator: define("operator", "The innermost operator in which the call was made."),
  thread: define("thread", "The host thread that was blocked."),
  start: define("start", "When the call began, counted from the beginning of the trace."),
  blocked: define("host blocked", "How long the call kept the host waiting."),
  idle: define("idle caused", "How long the device had nothing to do because of the call."),
} as const;

/** Figures above the fold. */
export const FIGURE_DEFINITIONS = {
  step: define("step", "Mean length of the selected steps, on the host's clock."),
  backwardDevice: define(
    "backward, device",
    "Device time of everything launched inside an autograd node.",
  ),
  backwardHost: define("backward, host", "Host time of all autograd node evaluations."),
  ratioDevice: define(
    "backward / forward",
    "Device time of the backward, communication left out, over that of the forward.",
  ),
  ratioHost: define(
    "backward / forward",
    "Length of the backward phase over that of the forward, on the host.",
  ),
  syncs: define(
    "syncs in backward",
    "How often the host waited for the device during the backward.",
  ),
  blocked: define(
    "host blocked in backward",
    "How long these waits kept the host from launching more work.",
  ),
  attributed: define(
    "attributed",
    "Share of the backward time that is known to belong to a module.",
  ),
} as const;

/** Figures above the table of host-blocking calls. */
export const SYNC_FIGURE_DEFINITIONS = {
  count: define("host waits", "How often the host waited for the device."),
  blocked: define("host blocked", "How long these waits kept the host."),
  idle: define("device idle caused", "How long the device had nothing to do because of them."),
  longest: define("longest", "The longest single wait."),
  backward: define("in backward", "How many of these waits are in the backward pass."),
} as const;
