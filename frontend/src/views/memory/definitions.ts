import { MemoryModule, MemoryOperator, MemoryPeak } from "../../api/fields";
import { define, defineField, type Definition } from "../../text/definitions";
import type { MemoryClass } from "./curve";

/** Figures of the memory of a device. */
export const MEMORY_DEFINITIONS = {
  peak: defineField("peak", MemoryPeak.allocated_bytes),
  reserved: defineField("reserved at the peak", MemoryPeak.reserved_bytes),
  unused: define(
    "reserved, unused",
    "Reserved minus allocated bytes at the peak: parts that are too small, of other streams, or left from an earlier peak.",
    "bytes",
  ),
  parameters: define(
    "parameters",
    "Bytes of all parameters by the recorder's manifest, whether the allocator counted them or not. The CPU's counts from the start of the recording.",
    "bytes",
  ),
  live: defineField("at the peak", MemoryModule.peak_bytes),
  count: defineField("count", MemoryModule.activations),
  blocks: defineField("blocks", MemoryOperator.self_allocations),
  activations: defineField("activations", MemoryModule.activation_bytes),
  lifetime: defineField("mean lifetime", MemoryModule.activation_lifetime_us),
  longest: defineField("longest", MemoryModule.activation_longest_us),
  checkpoint: defineField("checkpointing frees", MemoryModule.checkpoint_bytes),
  allocated: defineField("allocated", MemoryModule.allocated_bytes),
  self: defineField("itself", MemoryOperator.self_allocated_bytes),
  inside: defineField("with operators inside", MemoryOperator.allocated_bytes),
  increase: defineField("net increase", MemoryOperator.increase_bytes),
} as const;

/** Classes of live bytes, by the lives of blocks. */
export const CLASS_DEFINITIONS: Readonly<Record<MemoryClass | "allocated", Definition>> = {
  parameter: define(
    "parameters",
    "What was allocated before the recording, as much of it as parameters take by the recorder's manifest.",
  ),
  optimizer_state: define(
    "optimizer state",
    "Allocated in a step of the optimizer, and live after it.",
  ),
  gradient: define("gradients", "Allocated in a backward pass, and live after its last node."),
  activation: define(
    "saved activations",
    "Allocated in the forward, and live when the next backward pass begins.",
  ),
  recomputed: define(
    "recomputed activations",
    "Allocated in a forward that runs again within a node, and live after it.",
  ),
  input: define(
    "inputs",
    "Allocated in no phase or by a loader, and live when a phase begins: batches, mostly.",
  ),
  temporary: define(
    "temporaries",
    "Freed before any of the other classes holds: within the forward, the backward pass or the step of the optimizer.",
  ),
  before_recording: define(
    "before the recording",
    "Allocated before the recording. On the CPU, what earlier recordings of the process did not see freed.",
  ),
  workspace: define(
    "workspaces",
    "Allocated by a matrix product in addition to its result, and never freed: cuBLAS and hipBLAS keep one for each thread and stream.",
  ),
  unknown: define(
    "unknown",
    "Activations and inputs that outlive the step after their own, and what the totals have but no block.",
  ),
  allocated: define(
    "allocated",
    "Bytes in use; the trace has no addresses, so that classes are unknown.",
  ),
};
