import type { ReactElement, ReactNode } from "react";

const INDENT = 16;

interface TreeCellProps {
  /** Rows above it in the tree. */
  depth: number;
  /** null: nothing below. */
  open: boolean | null;
  onFold: (open: boolean) => void;
  className?: string;
  children: ReactNode;
}

/** Fold mark and name. The keyboard folds with the arrows, so the mark is no stop. */
export function TreeCell(props: TreeCellProps): ReactElement {
  const { depth, open, onFold, className = "", children } = props;
  return (
    <span
      className={`tree-cell ${className}`.trimEnd()}
      style={{ paddingInlineStart: depth * INDENT }}
    >
      <span
        className={open === null ? "fold none" : "fold"}
        aria-hidden="true"
        onClick={(event) => {
          if (open === null) return;
          event.stopPropagation();
          onFold(!open);
        }}
      >
        {open === null ? "" : open ? "▼" : "▶"}
      </span>
      {children}
    </span>
  );
}
