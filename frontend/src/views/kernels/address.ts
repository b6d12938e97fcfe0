import { oneOf, record, whole, type Read } from "../../text/query";

/** What makes one row of the table. */
export const KERNEL_GROUPS = ["name", "launch", "sequence"] as const;
export type KernelGroup = (typeof KERNEL_GROUPS)[number];

/** What makes one point of the roofline. */
export const ROOFLINE_POINTS = ["kernel", "operator", "module"] as const;
export type RooflinePoints = (typeof ROOFLINE_POINTS)[number];

/** What an address says of the view of kernels, apart from search and sort. */
export const KERNELS = record({
  group: oneOf("kernels", KERNEL_GROUPS, "name"),
  /** Counted from 0. */
  page: whole("kernelpage", 0),
  /** Id of the selected row. */
  row: whole("kernel", null),
  points: oneOf("roofline", ROOFLINE_POINTS, "kernel"),
});
export type KernelsPlace = Read<typeof KERNELS>;
