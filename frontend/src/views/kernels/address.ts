/** What makes one row of the table. */
export const KERNEL_GROUPS = ["name", "launch", "sequence"] as const;
export type KernelGroup = (typeof KERNEL_GROUPS)[number];

/** What makes one point of the roofline. */
export const ROOFLINE_POINTS = ["kernel", "operator", "module"] as const;
export type RooflinePoints = (typeof ROOFLINE_POINTS)[number];

/** What an address says of the view of kernels, apart from search and sort. */
export interface KernelsPlace {
  group: KernelGroup;
  /** Counted from 0. */
  page: number;
  /** Id of the selected row. */
  row: number | null;
  points: RooflinePoints;
}

export const NO_KERNELS: KernelsPlace = { group: "name", page: 0, row: null, points: "kernel" };

export function kernelsToQuery(place: KernelsPlace, query: URLSearchParams): void {
  if (place.group !== NO_KERNELS.group) query.set("kernels", place.group);
  if (place.page > 0) query.set("kernelpage", String(place.page));
  if (place.row !== null) query.set("kernel", String(place.row));
  if (place.points !== NO_KERNELS.points) query.set("roofline", place.points);
}

export function kernelsFromQuery(query: URLSearchParams): KernelsPlace {
  return {
    group: KERNEL_GROUPS.find((name) => name === query.get("kernels")) ?? NO_KERNELS.group,
    page: whole(query.get("kernelpage")) ?? 0,
    row: whole(query.get("kernel")),
    points: ROOFLINE_POINTS.find((name) => name === query.get("roofline")) ?? NO_KERNELS.points,
  };
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
