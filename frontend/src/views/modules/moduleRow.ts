import type { ModuleNumbers } from "./moduleNumbers";
import type { ModuleNode } from "./moduleTree";

/** What one row of the table of modules shows. */
export interface ModuleRow {
  node: ModuleNode;
  numbers: ModuleNumbers;
  /** null: nothing below. */
  open: boolean | null;
}

export const moduleRowId = (row: ModuleRow): string => String(row.node.index);
