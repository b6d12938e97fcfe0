import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { TreeCell } from "../../components/table/TreeCell";
import { LoadsKernels } from "../../parts/LoadsKernels";
import type { ModuleNumbers } from "./moduleNumbers";
import { classText, type ModuleNode } from "./moduleTree";

interface ModuleCellProps {
  row: ModuleRow;
  search: string;
  /** Without the class, where the row above says it. */
  classless: boolean;
  onFold: (index: number, open: boolean) => void;
}

/** Fold mark, tail of the path, class. */
export function ModuleCell({ row, search, classless, onFold }: ModuleCellProps): ReactElement {
  const { node, open } = row;
  return (
    <TreeCell
      depth={node.depth}
      open={open}
      onFold={(unfold) => {
        onFold(node.index, unfold);
      }}
    >
      <Name text={node.label} className="code" mark={search} />
      <LoadsKernels us={row.numbers.loading} />
      {!classless && <Name text={classText(node)} className="muted" mark={search} />}
    </TreeCell>
  );
}

/** What one row of the table of modules shows. */
export interface ModuleRow {
  node: ModuleNode;
  numbers: ModuleNumbers;
  /** null: nothing below. */
  open: boolean | null;
}

export const moduleRowId = (row: ModuleRow): string => String(row.node.index);
