import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { RecordSnippet } from "../../parts/states";
import { divisor, type Averaging } from "../../report/measures";
import { NodeTable } from "./NodeTable";

/** Said wherever host time stands in for device time. */
export function HostNotice({ report }: { report: ReportData }): ReactElement {
  const why =
    report.trace.devices.length === 0
      ? "This trace holds no device"
      : "This trace holds no device events in its backward";
  return <p className="notice">{why}: times are the host&rsquo;s.</p>;
}

/** Inference has modules, and nothing to show of their backward. */
export function NoBackward(): ReactElement {
  return (
    <p className="notice">
      There is no backward pass in this trace: it may come from inference, or the recording ended
      before a backward began.
    </p>
  );
}

interface NoModulesProps {
  report: ReportData;
  averaging: Averaging;
}

/** A trace without module names still has its autograd nodes. */
export function NoModules({ report, averaging }: NoModulesProps): ReactElement {
  const mean = averaging === "mean";
  const mostExpensive = report.nodes
    .map(({ name, count, host_us: host, device_us: device }) => ({ name, count, host, device }))
    .sort((a, b) => (b.device ?? b.host) - (a.device ?? a.host));
  return (
    <section className="no-modules" aria-label="No modules">
      <div>
        <h2>This trace names no modules</h2>
        <p>
          {report.nodes.length === 0
            ? "There is no backward pass in it either: it may come from inference."
            : "It has a backward pass, but nothing says which module made which part of it."}{" "}
          Record it like this, or with <code>with_stack=True</code>:
        </p>
        <RecordSnippet />
      </div>
      {mostExpensive.length > 0 && (
        <div>
          <h2>
            Most expensive autograd nodes{" "}
            <span className="muted">{mean ? "per step" : "sum over the steps"}</span>
          </h2>
          <NodeTable rows={mostExpensive} by={divisor(report, averaging)} />
        </div>
      )}
    </section>
  );
}
