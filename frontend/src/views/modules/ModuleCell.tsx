import type { ReactElement } from "react";

import { LoadsKernels, Name } from "../../components/Name";
import { TreeCell } from "../../components/table/DataTable";
import { COMPILED_REMEDY } from "../../report/compiled";
import { duration } from "../../text/formats";
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
    <TreeCell depth={node.depth} open={open} onFold={(unfold) => onFold(node.index, unfold)}>
      <Name text={node.label} className="code" mark={search} />
      <LoadsKernels us={row.numbers.loading} />
      <HoldsLump us={row.numbers.lump} />
      {!classless && <Name text={classText(node)} className="muted" mark={search} />}
    </TreeCell>
  );
}

/** Marks a module around compiled code that is not broken down by modules. */
function HoldsLump({ us }: { us: number | null }): ReactElement | null {
  if (us === null) return null;
  return (
    <span className="lump" title={`${duration(us)} of its self time: ${LUMP} ${COMPILED_REMEDY}`}>
      compiled
    </span>
  );
}

const LUMP = "compiled code that is not broken down by modules.";

/** What one row of the table of modules shows. */
export interface ModuleRow {
  node: ModuleNode;
  numbers: ModuleNumbers;
  /** null: nothing below. */
  open: boolean | null;
}

export const moduleRowId = (row: ModuleRow): string => String(row.node.index);
