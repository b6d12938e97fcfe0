import {
  metaHelper,
  rowSortingFeature,
  tableFeatures,
  type ColumnDef,
} from "@tanstack/react-table";
import type { ReactNode } from "react";

import type { Definition } from "../../text/definitions";
import type { Sort } from "../../text/numbers";

/** What our tables know of a column beyond TanStack's own. */
export interface ColumnNotes {
  definition: Definition;
  /** Width in pixels until the reader chooses another; 0 takes what is left. */
  width: number;
  align: "start" | "end";
  /** Takes what the free column leaves, so that a panel that opens moves the columns before it little. */
  grows?: boolean;
  /** Goes where there is no room for all, the least first; undefined: always stays. */
  yields?: number;
}

// Order and rows come from the view: the table does not sort by itself.
export const features = tableFeatures({ rowSortingFeature, columnMeta: metaHelper<ColumnNotes>() });

export type Column<Row extends object> = ColumnDef<typeof features, Row>;

/** What is copied after the first column, as that shows it too. */
export interface CopiedColumn<Row extends object> {
  definition: Definition;
  value: (row: Row) => string;
}

/** Where a row stands in a tree; null in tables that are flat. */
export interface Branch {
  level: number;
  /** null: a leaf. */
  open: boolean | null;
}

export interface DataTableProps<Row extends object> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  /** All rows, where these are a part of them. */
  total?: number;
  rowId: (row: Row) => string;
  sort: Sort;
  onSort: (sort: Sort) => void;
  selected: string | null;
  onSelect: (id: string) => void;
  hovered?: string | null;
  onHover?: (id: string | null) => void;
  /** Makes the table a tree. */
  branch?: (row: Row) => Branch;
  onFold?: (id: string, open: boolean) => void;
  copied?: CopiedColumn<Row>;
  /** A last row that always stays in sight, with the columns that are shown. */
  footer?: (columns: Column<Row>[]) => ReactNode;
  /** In place of rows where there are none. */
  empty: string;
}
