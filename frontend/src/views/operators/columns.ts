import { textOf, type TableRow } from "../../parts/serverTable/rows";
import type { ServerColumn } from "../../parts/serverTable/ServerTable";
import type { OperatorGroup } from "./address";
import { OPERATOR_DEFINITIONS as D } from "./definitions";

/** The server's table of each grouping, and the column that tells a call's row in it. */
export const OPERATOR_TABLES: Readonly<Record<OperatorGroup, { table: string; of: string }>> = {
  name: { table: "operators", of: "operator_id" },
  shape: { table: "operators_by_shape", of: "by_shape_id" },
  stack: { table: "operators_by_stack", of: "by_stack_id" },
  module: { table: "operators_by_module", of: "by_module_id" },
};

const KEYS: Readonly<Record<OperatorGroup, ServerColumn[]>> = {
  name: [],
  shape: [{ id: "shapes", definition: D.shapes, width: 240, write: compact }],
  stack: [{ id: "stack", definition: D.stack, width: 300 }],
  module: [
    { id: "module", definition: D.module, width: 200 },
    { id: "phase", definition: D.phase, width: 76 },
  ],
};

export function operatorColumns(group: OperatorGroup, device: boolean): ServerColumn[] {
  const onDevice: ServerColumn[] = [
    { id: "device_us", definition: D.device, width: 84, yields: 8 },
    { id: "self_device_us", definition: D.selfDevice, width: 92 },
    { id: "tensor_core_us", definition: D.tensorCore, width: 92, yields: 4 },
    { id: "tensor_core_eligible", definition: D.eligible, width: 70, yields: 1 },
  ];
  return [
    { id: "name", definition: D.name, width: 0 },
    ...KEYS[group],
    { id: "calls", definition: D.calls, width: 60, yields: 10 },
    { id: "host_us", definition: D.host, width: 84, yields: 5 },
    { id: "self_host_us", definition: D.selfHost, width: 84, ...(device ? { yields: 9 } : {}) },
    ...(device ? onDevice : []),
    { id: "flops", definition: D.flops, width: 96, yields: 3 },
    { id: "tflop_per_s", definition: D.rate, width: 74, yields: 7 },
    ...(device ? [{ id: "peak_share", definition: D.peak, width: 70, yields: 6 }] : []),
    { id: "flop_per_byte", definition: D.intensity, width: 84, yields: 2 },
  ];
}

/** What tells rows of one operator apart, in each grouping. */
export const OPERATOR_DETAILS: Readonly<Partial<Record<OperatorGroup, (row: TableRow) => string>>> =
  {
    shape: (row) => compact(textOf(row, "shapes")),
    stack: (row) => textOf(row, "stack").split("\n")[0] ?? "",
    module: (row) => `${textOf(row, "module")} ${textOf(row, "phase")}`.trim(),
  };

/** Shapes in one line, without the blanks inside of brackets. */
export function compact(shapes: string): string {
  return shapes.replaceAll(/\s+/g, " ").replaceAll("[ ", "[").replaceAll(" ]", "]");
}
