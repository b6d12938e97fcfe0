import { type ReactElement, type ReactNode, useRef } from "react";

import type { ReportData } from "../api/schema";
import { CopyButton } from "../components/controls";
import {
  chainIndent,
  type ChainLink,
  chainOf,
  chainText,
  frameShort,
  isLibrary,
} from "../report/chain";
import { meanStep } from "../report/measures";
import { avoidable, isHighlighted, lostIn, type SyncRow } from "../report/syncs";
import { duration } from "../text/formats";

interface ChainProps {
  report: ReportData;
  row: SyncRow;
  title?: ReactNode;
}

/** What led to a sync, from the call outwards, as text that can be copied. */
export function Chain({ report, row, title = "What happens" }: ChainProps): ReactElement {
  const source = useRef<HTMLPreElement>(null);
  const { sync } = row;
  const classOf = (path: string): string | null =>
    report.modules.find((module) => module.path === path)?.class ?? null;
  const lost = lostIn(sync.duration_us, sync.device_idle_us);
  const look = avoidable([sync]).length > 0 && isHighlighted(lost, meanStep(report));
  return (
    <section aria-label="Chain">
      <header>
        <h3>{title}</h3>
        <CopyButton text={chainText(sync, classOf)} source={source} />
      </header>
      <pre ref={source} className={look ? "chain look" : "chain"} tabIndex={0}>
        {chainOf(sync, classOf).map((link, index) => (
          <span key={index} className={classNameOf(link)}>
            {chainIndent(link.depth)}
            <bdi title={link.text}>{link.kind === "frame" ? frameShort(link.text) : link.text}</bdi>
            {link.kind === "call" ? `  ${duration(sync.duration_us)}` : ""}
            {"\n"}
          </span>
        ))}
      </pre>
      <StackNote row={row} />
    </section>
  );
}

function StackNote({ row }: { row: SyncRow }): ReactElement | null {
  const { sync } = row;
  if (sync.stack.length === 0) {
    return (
      <p className="muted">
        No Python lines: recorded without <code>with_stack=True</code>.
      </p>
    );
  }
  return sync.node === null ? null : (
    <p className="muted">These lines are from the forward that created the autograd node.</p>
  );
}

function classNameOf({ kind, text }: ChainLink): string {
  return kind === "frame" && isLibrary(text) ? "link-frame library" : `link-${kind}`;
}
