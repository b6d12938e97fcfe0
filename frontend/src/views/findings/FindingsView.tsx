import { type ReactElement, useMemo, useRef } from "react";

import type { Target } from "../../api/request";
import type { ReportData, RuleInfo } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { Name } from "../../components/Name";
import { CopyButton } from "../../components/controls";
import { PlaceFilter, PlaceLink, PlaceSearch } from "../../parts/PlaceLink";
import { usePlace, useRules } from "../../parts/services";
import { priceBasis } from "../../report/findings";
import { stepNote, stepWord } from "../../report/measures";
import { tallyOf } from "../../report/syncs";
import { hostOperators, topKernels } from "../../report/topWork";
import { count, counted, percent } from "../../text/formats";
import { pathText } from "../../text/names";
import { without } from "../../text/numbers";
import { FindingList } from "./FindingList";
import { FINDING_DEFINITIONS as D } from "./definitions";
import {
  countRules,
  filterFindings,
  type FindingRow,
  findingRows,
  findingsMarkdown,
  OUTSIDE,
  ruleFamilies,
  sortFindings,
} from "./findings";

interface FindingsViewProps {
  report: ReportData;
  target: Target;
}

/** Everything the rules found, what gains most first, with what proves it and what to do. */
export function FindingsView({ report, target }: FindingsViewProps): ReactElement {
  const [place] = usePlace();
  const rules = useRules();
  const source = useRef<HTMLDivElement>(null);
  const { search, severity, confidence, rule, phase, about } = place;
  const { sort } = place;
  const [key, descending] = [sort?.key ?? null, sort?.descending ?? true];
  const all = useMemo(() => findingRows(report), [report]);
  const rows = useMemo(
    () =>
      sortFindings(
        filterFindings(all, { search, severity, confidence, rule, phase, module: about }),
        key === null ? null : { key, descending },
      ),
    [all, search, severity, confidence, rule, phase, about, key, descending],
  );
  const filtered = search !== "" || [severity, confidence, rule, phase, about].some(isChosen);
  const text = findingsMarkdown(
    rows.map(({ finding }) => finding),
    priceBasis(report),
    report.trace.path,
  );
  return (
    <div className="view">
      <div className="view-main findings">
        {all.length === 0 ? (
          <NothingFound report={report} rules={rules} />
        ) : (
          <>
            <FindingFigures report={report} rows={all} rules={rules} />
            <FindingToolbar rows={all} fitting={rows.length} filtered={filtered} />
            <div className="finding-scroll" ref={source}>
              <FindingList report={report} target={target} rows={rows} sort={sort} />
              {rows.length === 0 && (
                <p className="table-empty">No finding matches the search and filters.</p>
              )}
            </div>
            <footer className="findings-foot">
              {rules !== null && <Checked rules={rules} />}
              <span className="spring" />
              <CopyButton
                label={
                  filtered
                    ? `Copy ${counted(rows.length, "finding")} as Markdown`
                    : "Copy all as Markdown"
                }
                text={text}
                source={source}
              />
            </footer>
          </>
        )}
      </div>
    </div>
  );
}

const isChosen = (value: string | null): boolean => value !== null;

interface NothingFoundProps {
  report: ReportData;
  rules: readonly RuleInfo[] | null;
}

/** No finding: what was looked for, and where. */
function NothingFound({ report, rules }: NothingFoundProps): ReactElement {
  const { trace, totals } = report;
  const syncs = without(totals.sync_count, totals.profiler_sync_count);
  const busy = Object.values(totals.device_busy_us).some((us) => us > 0);
  return (
    <section className="nothing-found" aria-label="No findings">
      <h1>No findings</h1>
      <p>
        {rules === null ? "No rule" : `None of ${countRules(rules).visible} rules`} matched in{" "}
        {report.per_step.marked && `${counted(report.per_step.steps, "step")} of `}this trace, which
        has {count(trace.events)} events{syncs !== null && ` and ${counted(syncs, "sync")}`}.
      </p>
      {!busy && (
        <p>
          The trace holds no device events, which most rules are about. Record on a device, with{" "}
          <code>ProfilerActivity.CUDA</code> or the one of your device among the activities.
        </p>
      )}
      <Longest report={report} />
      {rules !== null && <Checked rules={rules} />}
    </section>
  );
}

/** Where the time goes all the same: the longest kernel, or operator of a trace without a device. */
function Longest({ report }: { report: ReportData }): ReactElement | null {
  const [kernel] = topKernels(report, 1);
  const [longest] = kernel === undefined ? hostOperators(report, 1) : [kernel];
  if (longest === undefined) return null;
  const view = kernel === undefined ? "operators" : "kernels";
  return (
    <p>
      Most time: <Name kernel={kernel !== undefined} text={longest.name} className="code" />,{" "}
      {percent(longest.share)} of the time of{" "}
      <PlaceLink to={{ view, search: "", sort: null }}>all {view}</PlaceLink>.
    </p>
  );
}

/** What was looked for, so that finding nothing says something. */
function Checked({ rules }: { rules: readonly RuleInfo[] }): ReactElement {
  const { visible, unseen } = countRules(rules);
  return (
    <details className="checked">
      <summary>
        {visible} rules checked; {unseen} need information that is not in traces
      </summary>
      <div className="families">
        {ruleFamilies(rules).map(([family, members]) => (
          <section key={family} aria-label={family}>
            <h2>{family.replaceAll("-", " ")}</h2>
            <ul>
              {members.map((rule) => (
                <li key={rule.id} title={rule.matches} className={rule.visible ? "" : "muted"}>
                  {rule.title}
                  {!rule.visible && " (not in traces)"}
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  );
}

interface FindingToolbarProps {
  rows: readonly FindingRow[];
  fitting: number;
  filtered: boolean;
}

function FindingToolbar({ rows, fitting, filtered }: FindingToolbarProps): ReactElement {
  const phases = tallyOf(rows.flatMap((row) => row.phases));
  return (
    <div className="toolbar">
      <PlaceSearch
        label="Search findings"
        found={filtered ? `${fitting} of ${rows.length}` : null}
      />
      <PlaceFilter of="severity" options={tallyOf(rows.map(({ finding }) => finding.severity))} />
      <PlaceFilter
        of="confidence"
        options={tallyOf(rows.map(({ finding }) => finding.confidence))}
      />
      <PlaceFilter of="rule" options={tallyOf(rows.map(({ finding }) => finding.rule))} />
      <PlaceFilter
        of="about"
        label="module"
        options={tallyOf(rows.map(({ finding }) => finding.module ?? OUTSIDE))}
        text={(module) => (module === OUTSIDE ? "no one module" : pathText(module))}
      />
      {phases.length > 0 && <PlaceFilter of="phase" label="syncs in phase" options={phases} />}
    </div>
  );
}

interface FindingFiguresProps {
  report: ReportData;
  rows: readonly FindingRow[];
  rules: readonly RuleInfo[] | null;
}

/** How many findings there are, of what weight, and what the most expensive costs. */
function FindingFigures({ report, rows, rules }: FindingFiguresProps): ReactElement {
  const [mostExpensive] = sortFindings(rows, { key: "cost", descending: true });
  const severities = tallyOf(rows.map(({ finding }) => finding.severity));
  const of = rules === null ? "" : `of ${countRules(rules).visible} rules`;
  return (
    <dl className="figures">
      <Figure definition={D.findings} number={count(rows.length)} note={of} />
      {SEVERITIES.map((severity) => (
        <Figure
          key={severity}
          definition={{ title: severity, text: D.severity.text }}
          number={count(severities.find(([name]) => name === severity)?.[1] ?? 0)}
        />
      ))}
      <DurationFigure
        definition={D.mostExpensive}
        us={mostExpensive?.finding.cost_us_per_step}
        note={
          mostExpensive?.costShare == null
            ? ""
            : `${percent(mostExpensive.costShare)} of the ${stepWord(report)}`
        }
      />
      <DurationFigure
        definition={D.step}
        us={report.per_step.duration_us}
        note={stepNote(report)}
      />
    </dl>
  );
}

const SEVERITIES = ["high", "medium", "low", "info"];
