import { Operator } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Columns of the tables of operators. */
export const OPERATOR_DEFINITIONS = {
  name: define("operator", "Name of the operator or annotation."),
  shapes: define("input shapes", "Shapes of the inputs, [] for anything but a tensor."),
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
} as const;

/** Columns of the lists in an operator's panel. */
export const OPERATOR_PANEL_DEFINITIONS = {
  device: define("device", "Device time of what the call launched.", "us"),
  host: define("host", "How long the call took on the host.", "us"),
  self: define(
    "self",
    "Time of the calls in the module without the operators inside: of the device, where there is one.",
    "us",
  ),
  calls: define("phase, calls", "The phase of the calls, and how many there are."),
} as const;
