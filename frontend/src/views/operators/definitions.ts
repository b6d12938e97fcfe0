import { Operator } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Columns of the tables of operators. */
export const OPERATOR_DEFINITIONS = {
  name: define("operator", "Name of the operator or annotation."),
  shapes: define("input shapes", "Shapes of the inputs, [] for what is no tensor."),
  stack: define(
    "call stack",
    "Python frames around the calls, innermost first; in the backward pass those around the forward operator.",
  ),
  module: define("module", "The module that the calls belong to."),
  phase: define("phase", "Forward, backward, optimizer, data or other."),
  calls: defineField("calls", Operator.calls),
  host: defineField("host", Operator.host_us),
  selfHost: defineField("self host", Operator.self_host_us),
  device: defineField("device", Operator.device_us),
  selfDevice: defineField("self device", Operator.self_device_us),
  tensorCore: defineField("tensor cores", Operator.tensor_core_us),
  eligible: defineField("eligible", Operator.tensor_core_eligible),
  flops: defineField("FLOPs", Operator.flops),
  rate: defineField("TFLOP/s", Operator.tflop_per_s),
  peak: defineField("of peak", Operator.peak_share),
  intensity: defineField("FLOP/byte", Operator.flop_per_byte),
  start: define("start", "When the call began, counted from the beginning of the trace.", "us"),
} as const;
