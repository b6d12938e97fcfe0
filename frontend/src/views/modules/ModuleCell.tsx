import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import type { ModuleNumbers } from "./moduleNumbers";
import { classText, type ModuleNode } from "./moduleTree";

const INDENT = 16;

interface ModuleCellProps {
  row: ModuleRow;
  search: string;
  /** Without the class, where the row above says it. */
  classless: boolean;
  onFold: (index: number, open: boolean) => void;
}

/** Fold mark, tail of the path, class. The keyboard folds with the arrows, so the mark is no stop. */
export function ModuleCell({ row, search, classless, onFold }: ModuleCellProps): ReactElement {
  const { node, open } = row;
  return (
    <span className="module-cell" style={{ paddingInlineStart: node.depth * INDENT }}>
      <span
        className={`fold ${open === null ? "none" : ""}`}
        aria-hidden="true"
        onClick={(event) => {
          if (open === null) return;
          event.stopPropagation();
          onFold(node.index, !open);
        }}
      >
        {open === null ? "" : open ? "▼" : "▶"}
      </span>
      <Name text={node.label} className="code" mark={search} />
      {!classless && <Name text={classText(node)} className="muted" mark={search} />}
    </span>
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
