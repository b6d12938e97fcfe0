import type { ReactNode } from "react";

import type { Sort } from "../../views/modules/treeRows";
import type { Column } from "./features";

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
  /** A last row that always stays in sight, with the columns that are shown. */
  footer?: (columns: Column<Row>[]) => ReactNode;
  /** In place of rows where there are none. */
  empty: string;
}
