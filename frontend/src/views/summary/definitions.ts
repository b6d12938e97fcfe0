import { define } from "../../text/definitions";

/** Figures of the summary. */
export const SUMMARY_DEFINITIONS = {
  step: define("step", "Mean length of the selected steps, on the host's clock.", "us"),
  busy: define(
    "device busy",
    "Share of the steps in which a device did any work; the mean over the devices.",
    "fraction",
  ),
  backward: define(
    "backward",
    "Share of the steps during which the host was in the backward pass.",
    "fraction",
  ),
  blocked: define(
    "host blocked",
    "How long the host waited for the device in a step, without the profiler's own call.",
    "us",
  ),
  attributed: define(
    "backward attributed",
    "Share of the backward time that is known to belong to a module.",
    "fraction",
  ),
} as const;

/** Steps by torch_tb_profiler's categories; a moment is in the first that holds it. */
export const BREAKDOWN_DEFINITIONS = {
  kernel: define("kernel", "A kernel ran that is no collective's.", "us"),
  copy: define("memory copy", "A copy ran.", "us"),
  set: define("memory set", "Memory was filled by a set.", "us"),
  communication: define("communication", "A collective ran, on the device or on the host.", "us"),
  runtime: define("runtime", "The host was in a call of the device's runtime.", "us"),
  data: define("data loader", "The host was in the data loader.", "us"),
  host: define("host operators", "The host was in an operator or an annotation.", "us"),
  other: define("other", "None of these.", "us"),
} as const;

/** Columns of the table of devices. */
export const DEVICE_DEFINITIONS = {
  device: define("device", "The device's name and number in the trace."),
  utilization: define("utilization", "Share of the time in which a kernel ran.", "fraction"),
  efficiency: define(
    "SM efficiency",
    "Share of the multiprocessors that had work, mean over the time.",
    "fraction",
  ),
  occupancy: define(
    "occupancy",
    "Estimated share of a multiprocessor's threads that a kernel fills, mean over kernel time.",
    "percent",
  ),
  tensorCores: define(
    "on tensor cores",
    "Share of the kernel time that ran on tensor cores, by the kernels' names.",
    "fraction",
  ),
  eligible: define(
    "tensor-core eligible",
    "Share of the kernel time launched by operators that tensor cores could serve.",
    "fraction",
  ),
  overlapped: define(
    "comm. overlapped",
    "Share of the communication during which the device computed too.",
    "fraction",
  ),
} as const;

/** What the summary says about modules, kernels and the trace. */
export const SUMMARY_TABLE_DEFINITIONS = {
  self: define("own time", "The module's own time, excluding children.", "us"),
  selfShare: define("share", "The own time as a share of the whole pass.", "fraction"),
  blocked: define("host blocked", "How long the host waited for the device in the module.", "us"),
  kind: define("kind of work", "What the kernels compute, from their names."),
  kindTime: define("device time", "Sum of the durations of this kind of work, a step.", "us"),
  kindShare: define("share", "The same as a share of all device work.", "fraction"),
  recorder: define(
    "recorder's share",
    "Estimated share of the steps that the recorder's own marks took.",
    "fraction",
  ),
} as const;
