import type { ReactElement } from "react";

import type { ReportData, TraceWarning } from "../../api/schema";
import { Name } from "../../components/Name";
import { Facts, SmallTable } from "../../components/SmallTable";
import { ShareBar } from "../../components/charts";
import { useWords } from "../../components/words";
import { perText } from "../../report/findings";
import { attributedShare, evidenceOf, reasonsOf } from "../../report/headline";
import {
  backwardTotal,
  backwardUnknown,
  divisor,
  inGraphs,
  measureOf,
} from "../../report/measures";
import { clip, count, duration, percent } from "../../text/formats";
import { ratio } from "../../text/numbers";
import { Block } from "./Blocks";
import { SUMMARY_TABLE_DEFINITIONS as T } from "./definitions";
import { severeWarnings, traceFacts } from "./tables";

/** What attributed the backward, and why the rest is not. */
export function Coverage({ report }: { report: ReportData }): ReactElement {
  const whole = backwardTotal(report) ?? 0;
  const share = attributedShare(report);
  const rows = [
    ...evidenceOf(report).map(([name, us]) => ({ name, us, missing: false })),
    ...reasonsOf(report).map(([name, us]) => ({ name, us, missing: true })),
  ];
  return (
    <Block
      title="Backward attributed"
      note={`${measureOf(report)} time ${perText(report)}`}
      from={{ view: "modules", title: "Modules" }}
    >
      {share === null || rows.length === 0 ? (
        <p className="muted">
          {inGraphs(report)
            ? "The backward may be in replayed graphs: it is unknown."
            : backwardUnknown(report)
              ? "The trace does not say what is backward work."
              : "There is no backward work."}
        </p>
      ) : (
        <SmallTable
          className="shares"
          head={null}
          rows={rows}
          keyOf={({ name, missing }) => `${String(missing)} ${name}`}
          rowClass={({ missing }) => (missing ? "missing" : "")}
          columns={[
            [
              null,
              ({ name, missing }) => (
                <>
                  {missing ? "not: " : "by "}
                  <bdi>{clip(name, 100)}</bdi>
                </>
              ),
            ],
            [null, ({ us }) => duration(us / divisor(report, "mean"))],
            [null, ({ us }) => percent(ratio(us, whole))],
            [null, ({ us }) => <ShareBar share={ratio(us, whole)} />, "bar-cell"],
          ]}
        />
      )}
    </Block>
  );
}

/** What makes figures of this report wrong or leaves them out; nothing where the trace is sound. */
export function SevereWarnings({ report }: { report: ReportData }): ReactElement | null {
  const severe = severeWarnings(report);
  if (severe.length === 0) return null;
  return (
    <ul className="notes severe" aria-label="Data-quality warnings">
      {severe.map((warning) => (
        <Warning key={warning.id} warning={warning} />
      ))}
    </ul>
  );
}

export function Warning({ warning }: { warning: TraceWarning }): ReactElement {
  return (
    <li>
      <bdi>{clip(warning.message, 500)}</bdi>
      {warning.count > 1 && <span className="muted"> ({count(warning.count)})</span>}
    </li>
  );
}

/** What to keep in mind when reading the numbers. */
export function DataQuality({ report }: { report: ReportData }): ReactElement {
  const words = useWords();
  const { warnings, recording } = report.trace;
  const { kernels_omitted: omitted, recorder } = report;
  const quiet = warnings.length === 0 && omitted === null;
  return (
    <Block title="Data quality">
      {quiet && <p className="muted">Nothing to note.</p>}
      <ul className="notes">
        {warnings.map((warning) => (
          <Warning key={warning.id} warning={warning} />
        ))}
        {omitted !== null && (
          <li>
            The table of kernels leaves out {count(omitted.names)} names,{" "}
            {duration(omitted.total_us)} of device events.
          </li>
        )}
        {recording?.slowdown != null && (
          <li title={T.recording.text}>
            A step took {duration(recording.recorded_step_us)} recorded and{" "}
            {duration(recording.unrecorded_step_us)} not recorded ({recording.slowdown.toFixed(2)}x;
            medians of {count(recording.recorded_steps)} and {count(recording.unrecorded_steps)}).
          </li>
        )}
        {recorder?.own_share != null && (
          <li title={words(T.recorder.text)}>
            The recorder&rsquo;s own marks took {percent(recorder.own_share)} of{" "}
            {words("the steps")}.
          </li>
        )}
      </ul>
    </Block>
  );
}

/** What was recorded, where, and how. */
export function TraceBlock({ report }: { report: ReportData }): ReactElement {
  const { trace } = report;
  const facts: [string, string][] = [
    ["events", count(trace.events)],
    ["length", duration(trace.duration_us)],
    ...traceFacts(report),
  ];
  return (
    <Block title="Trace">
      <p className="code">
        <Name text={trace.path} className="wrap" />
      </p>
      <Facts of={facts.map(([title, value]) => [title, <Name key={title} text={value} />])} />
    </Block>
  );
}
