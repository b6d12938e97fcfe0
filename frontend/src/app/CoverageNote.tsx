import { type ReactElement, useId } from "react";

import type { ReportData } from "../api/schema";
import { Facts, SmallTable } from "../components/SmallTable";
import {
  type Attributed,
  attributedTo,
  evidenceOf,
  originsOf,
  reasonsOf,
} from "../report/headline";
import { backwardTotal, backwardUnknown, divisor, measureOf } from "../report/measures";
import { clip, count, counted, duration, percent } from "../text/formats";
import { over } from "../text/numbers";
import { Warning } from "../views/summary/Quality";

/** Below this share too much is unknown to judge modules by what is known. */
const WORTH_A_LOOK = 0.9;

/** How much is attributed, on every page; a click says by what, and what is wrong with the trace. */
export function CoverageNote({ report }: { report: ReportData }): ReactElement {
  const id = useId();
  const attributed = attributedTo(report);
  const notes = report.trace.warnings.length;
  return (
    <>
      <button type="button" className="coverage" popoverTarget={id}>
        {attributed === null ? (
          backwardUnknown(report) ? (
            "backward unknown"
          ) : (
            "no backward work"
          )
        ) : report.modules.length === 0 ? (
          "no modules in the trace"
        ) : (
          <>
            <Shares attributed={attributed} />
            <span className="wide-only">
              {" "}
              of {duration(over(backwardTotal(report), divisor(report, "mean")))} backward{" "}
              {measureOf(report)}
              {report.per_step.of > 1 && " per step"}
            </span>
          </>
        )}
        {notes > 0 && ` · ${counted(notes, "note")}`}
        {notes > 0 && <span className="wide-only"> on data quality</span>}
      </button>
      <div
        id={id}
        popover="auto"
        className="popover"
        role="dialog"
        aria-label="Coverage and data quality"
      >
        <Parts title={`Attributed to (${measureOf(report)} time)`} parts={originsOf(report)} />
        <Parts title={`Attributed by (${measureOf(report)} time)`} parts={evidenceOf(report)} />
        <Parts title="Not attributed because" parts={reasonsOf(report)} />
        <h3>Data quality</h3>
        {notes === 0 ? (
          <p className="muted">Nothing to note.</p>
        ) : (
          <ul className="notes">
            {report.trace.warnings.map((warning) => (
              <Warning key={warning.id} warning={warning} />
            ))}
          </ul>
        )}
        <TraceFacts report={report} />
      </div>
    </>
  );
}

/** The share of modules, and what is not one: an annotation, or attributed via a stack's label only. */
function Shares({ attributed }: { attributed: Attributed }): ReactElement {
  const { modules, stackLabels, annotations } = attributed;
  return (
    <>
      attributed{" "}
      <strong className={modules < WORTH_A_LOOK ? "low" : undefined}>{percent(modules)}</strong>
      {stackLabels > 0 && <span className="wide-only"> by stack labels</span>}
      {annotations > 0 && ` to modules, ${percent(annotations)} to annotations`}
    </>
  );
}

function Parts({
  title,
  parts,
}: {
  title: string;
  parts: [string, number][];
}): ReactElement | null {
  if (parts.length === 0) return null;
  return (
    <SmallTable
      caption={<caption>{title}</caption>}
      head={null}
      rows={parts}
      keyOf={([name]) => name}
      columns={[
        [null, ([name]) => <bdi>{clip(name, 100)}</bdi>],
        [null, ([, us]) => duration(us)],
      ]}
    />
  );
}

function TraceFacts({ report }: { report: ReportData }): ReactElement {
  const { trace } = report;
  const devices = trace.devices.map(({ name }) => name).join(", ");
  const facts: [string, string][] = [
    ["file", trace.path],
    ["events", count(trace.events)],
    ["length", duration(trace.duration_us)],
    ["devices", devices === "" ? "none" : devices],
    ["torch", trace.torch_version ?? "unknown"],
    ["rank", trace.rank === null ? "unknown" : `${trace.rank} of ${trace.world_size ?? "?"}`],
  ];
  return (
    <>
      <h3>Trace</h3>
      <Facts
        of={facts.map(([title, value]) => [title, <bdi key={title}>{clip(value, 300)}</bdi>])}
      />
    </>
  );
}
