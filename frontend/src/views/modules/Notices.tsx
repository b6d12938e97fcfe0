import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { RecordSnippet } from "../../parts/states";
import { count, duration } from "../../text/formats";

/** Said wherever host time stands in for device time. */
export function HostNotice({ report }: { report: WireReport }): ReactElement {
  const why =
    report.trace.devices.length === 0
      ? "This trace holds no device"
      : "This trace holds no device work in its backward";
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

const MOST_NODES = 8;

/** A trace without module names still has its autograd nodes. */
export function NoModules({ report }: { report: WireReport }): ReactElement {
  const mostExpensive = [...report.nodes]
    .sort((a, b) => (b.device_us ?? b.host_us) - (a.device_us ?? a.host_us))
    .slice(0, MOST_NODES);
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
          <h2>Most expensive autograd nodes</h2>
          <table className="small-table">
            <thead>
              <tr>
                <th scope="col">node</th>
                <th scope="col">count</th>
                <th scope="col">device</th>
                <th scope="col">host</th>
              </tr>
            </thead>
            <tbody>
              {mostExpensive.map((node) => (
                <tr key={node.id}>
                  <th scope="row">
                    <Name text={node.name} className="code" />
                  </th>
                  <td>{count(node.count)}</td>
                  <td>{duration(node.device_us)}</td>
                  <td>{duration(node.host_us)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
