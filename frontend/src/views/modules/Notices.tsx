import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { type SmallColumn, SmallTable } from "../../components/SmallTable";
import { RecordSnippet } from "../../parts/states";
import { compiledRemedy, compiledRows, compiledText } from "../../report/compiled";
import { perText } from "../../report/findings";
import { type Averaging, divisor, inGraphs } from "../../report/measures";
import { count, duration } from "../../text/formats";
import { over } from "../../text/numbers";
import { COMPILED_DEFINITIONS as C, NODE_DEFINITIONS as D } from "./definitions";
import type { NodeRow } from "./panel/moduleDetail";

/** Said wherever host time stands in for device time. */
export function HostNotice({ report }: { report: ReportData }): ReactElement {
  const why =
    report.trace.devices.length === 0
      ? "This trace holds no device"
      : "This trace holds no device events in its backward";
  return <p className="notice">{why}: times are the host&rsquo;s.</p>;
}

/** Inference has modules, and nothing to show of their backward; a replayed graph may hold it. */
export function NoBackward({ report }: { report: ReportData }): ReactElement {
  return (
    <p className="notice">
      {inGraphs(report)
        ? `Times of modules are unknown: ${duration(report.totals.unplaced_graph_us)} of device time are in replayed graphs, and the trace does not hold the operators and modules that these were captured from.`
        : "There is no backward pass in this trace: it may come from inference, or the recording ended before a backward began."}
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
            ? inGraphs(report)
              ? "Its backward pass may be in replayed graphs."
              : "There is no backward pass in it either: it may come from inference."
            : "It has a backward pass, but nothing in it says which module each part belongs to."}{" "}
          Record it like this, or with <code>with_stack=True</code>:
        </p>
        <RecordSnippet />
      </div>
      {mostExpensive.length > 0 && (
        <div>
          <h2>
            Most expensive autograd nodes{" "}
            <span className="muted">{mean ? perText(report) : "sum over the steps"}</span>
          </h2>
          <NodeTable rows={mostExpensive} by={divisor(report, averaging)} />
        </div>
      )}
    </section>
  );
}

interface NodeTableProps {
  rows: readonly NodeRow[];
  /** What the numbers are divided by. */
  by?: number;
}

/** Autograd nodes by name, in the order given; the first of them where there are many. */
export function NodeTable({ rows, by = 1 }: NodeTableProps): ReactElement {
  const device: SmallColumn<NodeRow> = [D.device, (row) => duration(over(row.device, by))];
  return (
    <SmallTable
      className="nodes"
      first={8}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        [
          "name",
          ({ name }) => <Name text={name.replace("torch::autograd::", "")} className="code" />,
        ],
        [D.count, (row) => count(row.count / by)],
        ...(rows.some((row) => row.device !== null) ? [device] : []),
        [D.host, (row) => duration(row.host / by)],
      ]}
    />
  );
}

interface CompiledCodeProps {
  report: ReportData;
  /** What the numbers are divided by. */
  by: number;
}

/** What torch.compile made, on how many modules it is, and how to get the rest there. */
export function CompiledCode({ report, by }: CompiledCodeProps): ReactElement | null {
  const text = compiledText(report);
  if (text === null) return null;
  return (
    <details className="notice">
      <summary>{text}</summary>
      <Remedy report={report} />
      <Regions report={report} by={by} />
    </details>
  );
}

function Remedy({ report }: { report: ReportData }): ReactElement | null {
  const remedy = compiledRemedy(report);
  return remedy === null ? null : <p>{remedy}</p>;
}

function Regions({ report, by }: CompiledCodeProps): ReactElement {
  return (
    <section aria-label="Compiled code">
      <SmallTable
        className="nodes"
        first={8}
        rows={compiledRows(report)}
        keyOf={(row) => `${String(row.id)} ${row.operators}`}
        columns={[
          [C.operators, (row) => <Name text={row.operators} className="code" />],
          [C.region, (row) => row.region],
          ["direction", (row) => row.direction],
          [C.calls, (row) => count(row.calls / by)],
          [C.device, (row) => duration(over(row.device, by))],
          [C.host, (row) => duration(row.host / by)],
        ]}
      />
    </section>
  );
}
