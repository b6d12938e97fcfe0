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
  backwardIdle: define(
    "device idle in backward",
    "How long the devices had nothing to do while the host was in the backward pass.",
    "us",
  ),
  attributed: define(
    "attributed",
    "Share of the backward time that is known to belong to a module.",
    "fraction",
  ),
} as const;
