import {
  metaHelper,
  rowSortingFeature,
  tableFeatures,
  type ColumnDef,
} from "@tanstack/react-table";

import type { Definition } from "../../text/definitions";

/** What our tables know of a column beyond TanStack's own. */
export interface ColumnNotes {
  definition: Definition;
  /** Width in pixels until the reader chooses another; 0 takes what is left. */
  width: number;
  align: "start" | "end";
  /** Goes where there is no room for all, the least first; undefined: always stays. */
  yields?: number;
}

// Order and rows come from src/model: the table is told, it does not sort by itself.
export const features = tableFeatures({ rowSortingFeature, columnMeta: metaHelper<ColumnNotes>() });

export type Column<Row extends object> = ColumnDef<typeof features, Row>;
