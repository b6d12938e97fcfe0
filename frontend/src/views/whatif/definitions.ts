import { Finding, PathModule, WhatIf } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Figures of an answer. */
export const WHATIF_DEFINITIONS = {
  now: define(
    "now",
    "A step in a replay with nothing changed, by the slower of host and device. The step of other views is its mean length on the host.",
    "us",
  ),
  then: define(
    "predicted",
    "A step in the replay with the change, by the slower of host and device.",
    "us",
  ),
  bounds: define(
    "between",
    "The lower bound leaves out unexplained delays, the upper one has them; both are widened by the replay's error.",
    "us",
  ),
  gain: define("gain", "How much shorter a step is in the replay with the change.", "us"),
  decides: define(
    "new bottleneck",
    "The largest part of the critical path of the predicted step: what to change next.",
  ),
  error: define(
    "error of the replay",
    "The distance between the step in a replay with nothing changed and the recorded one, as a share of that.",
    "fraction",
  ),
  launches: defineField("launches known", WhatIf.launches_known),
  steps: defineField("steps", WhatIf.steps),
  findingGain: defineField("saving/step", Finding.gain_us_per_step),
  factor: define(
    "factor",
    "The recorded time is multiplied by it: 0 takes it out, 1 changes nothing, 2 doubles it.",
    "times",
  ),
} as const;

/** Columns of the tables by module and by kind. */
export const SLACK_DEFINITIONS = {
  module: define(
    "module",
    "What is on the critical path of the predicted step; child modules are counted separately.",
  ),
  kind: define("device events", "Kinds of device events on the critical path of that step."),
  path: define("on the path", "Time on the critical path per step.", "us"),
  slack: defineField("slack", PathModule.slack_us),
} as const;

/** What can be scaled. */
export const SCALE_DEFINITIONS = {
  host: define("Host", "All time of the host: Python, operators, launches, data loading."),
  launches: define("Launches", "The calls that launch device events."),
  data: define("Data loading", "Time of the host in the data loader."),
  kernels: define("Device events", "All kernels, copies and memsets, collectives included."),
  communication: define(
    "Communication",
    "Collectives on the device, with their waiting for other ranks.",
  ),
  syncs: define(
    "Remove all syncs",
    "The host goes on at each sync without waiting for the device.",
  ),
} as const;
