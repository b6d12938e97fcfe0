import type { ReactElement } from "react";

import type { WireRule } from "../../api/rules";
import { causeTitle, shortStep } from "../../text/syncText";
import { lineText, whatText, type SyncNode } from "./syncTree";
import { Name } from "../../components/Name";

const INDENT = 16;

interface SyncCellProps {
  node: SyncNode;
  /** null: a leaf. */
  open: boolean | null;
  rules: readonly WireRule[] | null;
  search: string;
  onFold: (id: string, open: boolean) => void;
}

/** Fold mark and name. The keyboard folds with the arrows, so the mark is no stop. */
export function SyncCell({ node, open, rules, search, onFold }: SyncCellProps): ReactElement {
  return (
    <span
      className="module-cell sync-cell"
      style={{ paddingInlineStart: (node.level - 1) * INDENT }}
    >
      <span
        className={`fold ${open === null ? "none" : ""}`}
        aria-hidden="true"
        onClick={(event) => {
          if (open === null) return;
          event.stopPropagation();
          onFold(node.id, !open);
        }}
      >
        {open === null ? "" : open ? "▼" : "▶"}
      </span>
      <What node={node} rules={rules} search={search} />
    </span>
  );
}

function What({ node, rules, search }: Omit<SyncCellProps, "open" | "onFold">): ReactElement {
  const [row] = node.rows;
  if (row === undefined) return <></>;
  if (node.kind === "cause") {
    const title = causeTitle(row.sync.cause, rules);
    return (
      <>
        <Name text={title} mark={search} />
        {title !== row.sync.cause && (
          <Name text={row.sync.cause} className="code muted" mark={search} />
        )}
      </>
    );
  }
  if (node.level === 3) {
    const { step, api } = row.sync;
    return (
      <>
        <Name
          text={step === null ? "outside every step" : `step ${shortStep(step)}`}
          className="keep"
        />
        <Name text={api} className="code muted" mark={search} />
      </>
    );
  }
  const line = lineText(row);
  const notes = [row.sync.operator === null ? null : row.sync.node, line];
  return (
    <>
      <Name text={whatText(node)} className="code keep" mark={search} />
      <Name
        text={notes.filter((note) => note !== null).join(" · ")}
        className="code muted"
        mark={search}
      />
    </>
  );
}
