import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { perText } from "../../report/findings";
import { duration, durationScale, NOTHING, scaledDuration } from "../../text/formats";
import type { WhatIfPlace } from "./address";
import { kindRows, moduleRest, moduleRows, type SlackRow } from "./answer";
import { SLACK_DEFINITIONS as D } from "./definitions";
import { useAnswer } from "./question";

interface PathTablesProps {
  report: ReportData;
  target: Target;
  place: WhatIfPlace;
}

/** The critical path of the predicted step by module and by kind, and the slack of what is off it. */
export function PathTables({ report, target, place }: PathTablesProps): ReactElement {
  const { value: answer, status } = useAnswer(target, report, place, true);
  return (
    <section
      className={answer === null ? "facet whatif-slack whatif-awaited" : "facet whatif-slack"}
      aria-label="Critical path by module and kind"
      aria-busy={status === "loading"}
    >
      <h2>
        On the critical path{" "}
        <span className="muted">{perText(report)}, by module and by kind of device event</span>
      </h2>
      {answer !== null && (
        <>
          <SlackTable title={D.module} rows={moduleRows(answer)} rest={moduleRest(answer)} />
          <SlackTable title={D.kind} rows={kindRows(answer)} rest={null} />
        </>
      )}
    </section>
  );
}

interface SlackTableProps {
  title: { title: string; text: string };
  rows: readonly SlackRow[];
  /** What is not listed. */
  rest: { modules: number; path: number } | null;
}

function SlackTable({ title, rows, rest }: SlackTableProps): ReactElement | null {
  if (rows.length === 0) return null;
  const scale = durationScale(Math.max(0, ...rows.map((row) => row.path)));
  return (
    <div className="whatif-slack-rows">
      <SmallTable
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          [title, ({ name }) => <Name text={name} />],
          [D.path, ({ path }) => (path === 0 ? NOTHING : scaledDuration(path, scale))],
          [D.slack, ({ slack }) => (slack === 0 ? "none" : duration(slack))],
        ]}
      />
      {rest !== null && (
        <p className="muted">
          {rest.modules} more modules, {duration(rest.path)} of the path
        </p>
      )}
    </div>
  );
}
