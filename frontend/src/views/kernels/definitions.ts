import { Kernel, Operator } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Columns of the tables of kernels. */
export const KERNEL_DEFINITIONS = {
  name: define("kernel", "Name of the kernel, copy or set."),
  operator: define("operator", "Innermost operator or annotation around the launch."),
  grid: define("grid", "Blocks in each dimension."),
  block: define("block", "Threads of a block in each dimension."),
  kind: define(
    "kind",
    "Kind of device work, by the kernel's name or its operator. In SQL GEMM is `matrix`, memset `set`.",
  ),
  count: defineField("count", Kernel.count),
  total: defineField("total", Kernel.total_us),
  mean: defineField("mean", Kernel.mean_us),
  least: defineField("min", Kernel.min_us),
  most: defineField("max", Kernel.max_us),
  blocks: defineField("blocks / SM", Kernel.blocks_per_sm),
  occupancy: defineField("occupancy", Kernel.occupancy_pct),
  tensorCore: defineField("tensor cores", Kernel.tensor_core),
  module: define("module", "The module with the most of its time."),
  phase: define("phase", "The phase of the launch with the most of its time."),
  flops: define(
    "FLOPs",
    "FLOPs of the calls that launched it, shared among their kernels by duration.",
    "flop",
  ),
  rate: defineField("TFLOP/s", Operator.tflop_per_s),
  peak: defineField("of peak", Operator.peak_share),
} as const;

/** Columns of the list in a kernel's panel. */
export const KERNEL_PANEL_DEFINITIONS = {
  duration: define("duration", "How long the event ran on the device.", "us"),
} as const;

/** Columns of the table of sequences that could be fused. */
export const SEQUENCE_DEFINITIONS = {
  name: define(
    "kernels in a row",
    "Kernels of the same names in the same order, in a row on one stream of one step and phase, twice or more: those that work element by element, reduce, copy or fill. That one reads what the one before it wrote is not known.",
  ),
  kernels: define("kernels", "Kernels of one occurrence.", "count"),
  count: define("occurrences", "How often the sequence occurs.", "count"),
  total: define("total", "Sum of the durations of all its kernels.", "us"),
  removable: define(
    "removable",
    "The total without the longest kernel of each occurrence, which one fused kernel would take at least.",
    "us",
  ),
  gain: define(
    "gain at most",
    "How much shorter a step is at most if one kernel, as long as the longest, does the work of each occurrence: by a replay in which the others take no time, nor what launches only them. A bound, not a promise. Found for the ten sequences with the most time and the ten with the most kernels to remove.",
    "us",
  ),
  phase: define("phase", "The phase of the launches."),
} as const;

/** Figures above the table of kernels, and the axes of the roofline. */
export const ROOFLINE_DEFINITIONS = {
  mfu: define(
    "MFU",
    "Model FLOPs utilization: the time that the FLOPs of the steps, without recomputed ones, take at the device's peak, over the length of the steps; a lower bound where FLOPs are unknown.",
    "fraction",
  ),
  known: define(
    "device time with known FLOPs",
    "The share of device time in calls whose FLOPs the shapes of their inputs give.",
    "fraction",
  ),
  unknown: define(
    "GEMM time without FLOP counts",
    "Device time of products, convolutions and attention whose FLOPs are not known.",
    "us",
  ),
  intensity: define(
    "FLOP/byte",
    "FLOPs over the bytes of inputs and results, each counted once: the most the intensity can be, as kernels may move them again.",
    "flop/byte",
  ),
  rate: define(
    "TFLOP/s",
    "FLOPs over the time of the calls or kernels that compute them.",
    "TFLOP/s",
  ),
} as const;
