import { Breakdown, DeviceUse } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Figures of the summary. */
export const SUMMARY_DEFINITIONS = {
  step: define("step", "Mean length of the measured steps, on the host's clock.", "us"),
  busy: define(
    "device busy",
    "Share of the steps in which a device did any work; the mean over the devices.",
    "fraction",
  ),
  forward: define(
    "forward",
    "Share of the steps during which the host was in the forward.",
    "fraction",
  ),
  optimizer: define(
    "optimizer",
    "Share of the steps during which the host was in the optimizer.",
    "fraction",
  ),
  backward: define(
    "backward",
    "Share of the steps during which the host was in the backward pass.",
    "fraction",
  ),
  blocked: define(
    "host blocked",
    "How long the host was in syncs: mean over the measured steps, without the profiler's own.",
    "us",
  ),
} as const;

/** Columns of the most expensive operators of a trace without a device. */
export const SUMMARY_OPERATOR_DEFINITIONS = {
  time: define(
    "self time",
    "Host time of its calls per step, less that of what runs inside them; summed over threads, so it may exceed the step.",
    "us",
  ),
  share: define("share", "Of the self time of all operators.", "fraction"),
} as const;

/** Columns of the kernels that take the most time, where no module does. */
export const TOP_KERNEL_DEFINITIONS = {
  time: define("time", "Device time of the kernel's events per measured step.", "us"),
  share: define("share", "Of the time of all device events.", "fraction"),
} as const;

/** Steps by torch_tb_profiler's categories; a moment is in the first that holds it. */
export const BREAKDOWN_DEFINITIONS = {
  kernel: defineField("kernel", Breakdown.kernel_us),
  copy: defineField("memory copy", Breakdown.copy_us),
  set: defineField("memory set", Breakdown.set_us),
  communication: defineField("communication, exposed", Breakdown.communication_us),
  runtime: defineField("runtime", Breakdown.runtime_us),
  data: defineField("data loader", Breakdown.data_us),
  host: defineField("host operators", Breakdown.host_us),
  other: defineField("other", Breakdown.other_us),
} as const;

/** Columns of the table of devices. */
export const DEVICE_DEFINITIONS = {
  device: define("device", "The device's name and number in the trace."),
  utilization: defineField("utilization", DeviceUse.utilization),
  efficiency: defineField("SM efficiency", DeviceUse.sm_efficiency),
  occupancy: defineField("occupancy", DeviceUse.occupancy_pct),
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
  self: define(
    "self time",
    "Sum over the modules of the class, without their children and without communication.",
    "us",
  ),
  selfShare: define("share", "The self time as a share of the whole pass.", "fraction"),
  blocked: define(
    "host blocked",
    "How long the host was in syncs in these modules, without their children and the profiler's own.",
    "us",
  ),
  each: define("each", "The self time of one module of the class, the mean.", "us"),
  kind: define("kind of work", "What the kernels compute, from their names."),
  kindTime: define(
    "sum over streams",
    "Sum of the durations of this kind of device events per measured step. Streams overlap, so all kinds together may exceed the step.",
    "us",
  ),
  kindShare: define("share", "The same as a share of the time of all device events.", "fraction"),
  recording: define(
    "recorded steps",
    "Lengths of steps by the host's clock, recorded and not. A recorded step is longer because of time on the host: host times and idle times are overstated by it, durations of device events hardly.",
    "us",
  ),
  recorder: define(
    "recorder's share",
    "Estimated share of the steps that the recorder's own marks took.",
    "fraction",
  ),
} as const;
