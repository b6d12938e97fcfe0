import { useRef, type ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { avoidable } from "../../model/attention";
import { findingsOfSync } from "../../model/findings";
import { duration, NOTHING } from "../../model/formats";
import { chainOf, chainText, type SyncRow } from "../../model/syncs";
import { CopyButton } from "../CopyButton";
import { Name } from "../Name";
import { Remedy } from "../Remedy";
import { usePlace } from "../state/context";

interface SyncPanelProps {
  report: WireReport;
  row: SyncRow;
}

/** One wait and the chain that led to it: the evidence. */
export function SyncPanel({ report, row }: SyncPanelProps): ReactElement {
  const [, go] = usePlace();
  const { sync } = row;
  const close = (): void => {
    go({ sync: null });
  };
  return (
    <aside
      className="panel"
      aria-label="Host-blocking call"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <header>
        <h2>
          <Name text={sync.api} />
        </h2>
        <button type="button" className="quiet" onClick={close}>
          Close
        </button>
      </header>
      <p className="muted">
        <Name text={sync.cause} className="wrap" />
      </p>
      <dl className="facts">
        <Fact title="host blocked" value={duration(sync.duration_us)} />
        <Fact title="device idle caused" value={duration(sync.device_idle_us)} />
        <Fact title="phase" value={sync.phase} />
        <Fact title="start" value={duration(row.start)} />
        <Fact title="step" value={sync.step ?? NOTHING} />
        <Fact title="thread" value={sync.thread} />
      </dl>
      <Chain report={report} row={row} />
      {findingsOfSync(report, sync).map((finding) => (
        <Remedy key={finding.where} finding={finding} />
      ))}
      {sync.module !== null && (
        <button
          type="button"
          onClick={() => {
            go({ view: "backward", module: sync.module, zoom: null, search: "", sort: null });
          }}
        >
          Show module in Backward
        </button>
      )}
    </aside>
  );
}

function Chain({ report, row }: SyncPanelProps): ReactElement {
  const source = useRef<HTMLPreElement>(null);
  const classOf = (path: string): string | null =>
    report.modules.find((module) => module.path === path)?.class ?? null;
  const links = chainOf(row.sync, classOf);
  const look = avoidable([row.sync]).length > 0;
  return (
    <section aria-label="Chain">
      <header>
        <h3>What happens</h3>
        <CopyButton text={chainText(row.sync, classOf)} source={source} />
      </header>
      <pre ref={source} className={look ? "chain look" : "chain"} tabIndex={0}>
        {links.map((link, depth) => (
          <span key={depth} className={`link-${link.kind}`}>
            {depth === 0 ? "" : `${"  ".repeat(depth - 1)}└ `}
            <bdi>{link.text}</bdi>
            {depth === 0 ? `  ${duration(row.sync.duration_us)}` : ""}
            {"\n"}
          </span>
        ))}
      </pre>
      {row.sync.stack.length === 0 && (
        <p className="muted">
          No Python lines: the trace was recorded without <code>with_stack=True</code>.
        </p>
      )}
    </section>
  );
}

function Fact({ title, value }: { title: string; value: string }): ReactElement {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <Name text={value} />
      </dd>
    </div>
  );
}
