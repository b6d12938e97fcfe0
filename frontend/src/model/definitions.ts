/**
 * What every number means, in one sentence: the source of tooltips and of the last part of
 * docs/definitions.md (`npm run definitions`).
 */

import type { Unit } from "./formats";

export interface Definition {
  readonly title: string;
  readonly text: string;
  /** What the number counts: how a column of it is copied and written out. */
  readonly unit?: Unit;
}

export function define(title: string, text: string, unit?: Unit): Definition {
  return unit === undefined ? { title, text } : { title, text, unit };
}

/** Columns of the table of modules. */
export const MODULE_DEFINITIONS = {
  module: define("module", "Qualified name of the module instance, and its class."),
  calls: define("calls", "How often the module was called, outside of the backward pass.", "count"),
  deviceTotal: define(
    "device total",
    "Device time of kernels, copies and sets launched in the backward of this module and of all modules below it.",
    "us",
  ),
  deviceSelf: define(
    "device self",
    "Device time launched in the backward of this module alone, without the modules below it.",
    "us",
  ),
  hostTotal: define(
    "host total",
    "Host time of the autograd nodes that belong to this module and to all modules below it.",
    "us",
  ),
  hostSelf: define(
    "host self",
    "Host time of the autograd nodes that belong to this module alone.",
    "us",
  ),
  share: define(
    "share",
    "The total, as a share of all backward time of the selected steps.",
    "fraction",
  ),
  communication: define(
    "of it comm.",
    "The part of the total that is communication: collectives on this module's gradients.",
    "us",
  ),
  host: define(
    "host",
    "Host time of the autograd nodes that belong to this module and to all modules below it.",
    "us",
  ),
  ratio: define(
    "bwd / fwd",
    "Backward time of this module, communication left out, divided by its forward time.",
    "times",
  ),
  kernels: define(
    "kernels",
    "Kernels launched in the backward of this module and below it; copies and sets not counted.",
    "count",
  ),
  syncs: define(
    "syncs",
    "How often the host waited for the device, in any phase, in this module and below it.",
    "count",
  ),
  wait: define(
    "sync wait",
    "How long the host was blocked by these waits; red from 1% of the step.",
    "us",
  ),
  idle: define(
    "idle caused",
    "How long the device had nothing to do because of these waits.",
    "us",
  ),
} as const;

/** Figures above the fold. */
export const FIGURE_DEFINITIONS = {
  step: define("step", "Mean length of the selected steps, on the host's clock.", "us"),
  backwardDevice: define(
    "backward, device",
    "Device time of everything launched inside an autograd node.",
    "us",
  ),
  backwardHost: define("backward, host", "Host time of all autograd node evaluations.", "us"),
  ratioDevice: define(
    "backward / forward",
    "Device time of the backward, communication left out, over that of the forward.",
    "times",
  ),
  ratioHost: define(
    "backward / forward",
    "Length of the backward phase over that of the forward, on the host.",
    "times",
  ),
  syncs: define(
    "syncs in backward",
    "How often the host waited for the device during the backward.",
    "count",
  ),
  blocked: define(
    "host blocked in backward",
    "How long these waits kept the host from launching more work.",
    "us",
  ),
  attributed: define(
    "attributed",
    "Share of the backward time that is known to belong to a module.",
    "fraction",
  ),
} as const;
