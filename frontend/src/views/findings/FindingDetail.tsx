import { type ReactElement, useRef } from "react";

import { inTimeline, withoutFinding } from "../../address/links";
import type { Place } from "../../address/place";
import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { type SmallColumn, SmallTable } from "../../components/SmallTable";
import { CopyButton } from "../../components/controls";
import { useWords } from "../../components/words";
import { Fix } from "../../parts/Fix";
import { PlaceLink } from "../../parts/PlaceLink";
import { ShowModule } from "../../parts/ShowModule";
import { SyncTimeline } from "../../parts/SyncTimeline";
import { perText, priceBasis, shownSaving } from "../../report/findings";
import { stepWord } from "../../report/measures";
import type { SyncRow } from "../../report/syncs";
import { counted, duration, instant, NOTHING, percent } from "../../text/formats";
import { capitalized, stepLabel } from "../../text/names";
import { confidenceDefinition, EXAMPLE_DEFINITIONS as D } from "./definitions";
import { type FindingExample, findingMarkdown, type FindingRow, sentence } from "./findings";

interface FindingDetailProps {
  report: ReportData;
  target: Target;
  row: FindingRow;
}

/** What proves a finding, what to do about it, and where it was seen. */
export function FindingDetail({ report, target, row }: FindingDetailProps): ReactElement {
  const source = useRef<HTMLDivElement>(null);
  const { finding } = row;
  const sync = longestSync(row);
  return (
    <>
      <div className="finding-text" ref={source}>
        <section aria-label="Evidence">
          <h3>Evidence</h3>
          <p>{sentence(finding.evidence)}</p>
          <p className="muted">
            Confidence {finding.confidence}. {confidenceDefinition(finding.confidence)?.text}
          </p>
        </section>
        <Fix finding={finding} basis={null} />
        {finding.advice.length > 0 && (
          <section aria-label="Advice" className="advice">
            <h3>Check this as well: it is not in traces</h3>
            <dl>
              {finding.advice.map(({ id, title, fix }) => (
                <div key={id}>
                  <dt>{title}</dt>
                  <dd>{fix}</dd>
                </div>
              ))}
            </dl>
          </section>
        )}
        <div className="links">
          <CopyButton
            label="Copy as Markdown"
            text={findingMarkdown(finding, priceBasis(report))}
            source={source}
          />
          {finding.gain_us_per_step !== null && (
            <PlaceLink className="button" to={withoutFinding(finding.id)}>
              What if this were fixed
            </PlaceLink>
          )}
          <ShowModule module={finding.module} />
          <bdi className="code muted">{finding.rule}</bdi>
        </div>
      </div>
      <div className="finding-places">
        <section aria-label="Cost">
          <h3>{capitalized(perText(report))}</h3>
          <CostBar row={row} labelled />
        </section>
        {sync !== null && (
          <section aria-label="Timeline">
            <h3>The longest of its syncs shown here</h3>
            <SyncTimeline report={report} target={target} row={sync} />
          </section>
        )}
        <Examples report={report} row={row} />
      </div>
    </>
  );
}

interface CostBarProps {
  row: FindingRow;
  /** With words below, for the open finding. */
  labelled?: boolean;
}

/** The step as a line, what the finding costs of it, and what a replay without it gains. */
export function CostBar({ row, labelled = false }: CostBarProps): ReactElement {
  const { finding, costShare, gainShare } = row;
  const words = useWords();
  const cost = Math.min(1, costShare ?? 0);
  const gain = Math.min(1, gainShare ?? 0);
  return (
    <>
      <span
        className={labelled ? "cost-bar large" : "cost-bar"}
        role="img"
        aria-label={words(`cost ${percent(costShare)} of the step, gain ${percent(gainShare)}`)}
      >
        {cost > 0 && (
          <span
            className={finding.gain_us_per_step === null ? "cost unknown" : "cost"}
            style={{ inlineSize: `${cost * 100}%` }}
          />
        )}
        {gain > 0 && <span className="gain" style={{ inlineSize: `${gain * 100}%` }} />}
      </span>
      {labelled && (
        <dl className="cost-legend">
          <Part swatch="cost" title="cost" us={finding.cost_us_per_step} share={costShare} />
          <Part
            swatch="gain"
            title={`saved without it${shownSaving(finding).estimated ? " (estimate)" : ""}`}
            us={shownSaving(finding).us}
            share={gainShare}
          />
        </dl>
      )}
    </>
  );
}

interface PartProps {
  swatch: string;
  title: string;
  us: number | null;
  share: number | null;
}

function Part({ swatch, title, us, share }: PartProps): ReactElement {
  return (
    <div>
      <dt>
        <span className={`swatch ${swatch}`} aria-hidden="true" />
        {title}
      </dt>
      <dd>
        {us === null ? "unknown in this trace" : duration(us)}
        {us !== null && share !== null && <span className="muted"> · {percent(share)}</span>}
      </dd>
    </div>
  );
}

const FIRST = 5;

const STEP: SmallColumn<FindingExample> = [
  "step",
  ({ step }) => <bdi>{step === null ? NOTHING : stepLabel(step)}</bdi>,
];

interface ExamplesProps {
  report: ReportData;
  row: FindingRow;
}

/** Where it was seen: each leads to the timeline, a sync to its chain as well. */
function Examples({ report, row }: ExamplesProps): ReactElement {
  const { finding, examples } = row;
  return (
    <section aria-label="Examples">
      <h3>
        Seen {counted(finding.count, "time")}
        {examples.length > 0 &&
          examples.length < finding.count &&
          `; first ${examples.length} shown`}
      </h3>
      {examples.length === 0 ? (
        <p className="muted">
          It concerns the {stepWord(report)} as a whole: no single event shows it.
        </p>
      ) : (
        <SmallTable
          className="examples"
          first={FIRST}
          rows={examples}
          keyOf={(example) => example.start_us}
          columns={[
            [D.start, (example) => instant(example.start)],
            ...(report.per_step.marked ? [STEP] : []),
            [D.length, ({ length }) => duration(length)],
            ["show", (example) => <Show report={report} example={example} />],
          ]}
        />
      )}
    </section>
  );
}

function Show({ report, example }: { report: ReportData; example: FindingExample }): ReactElement {
  const { sync } = example;
  return (
    <>
      <PlaceLink to={exampleInTimeline(report, example)}>timeline</PlaceLink>
      {sync !== null && (
        <>
          {" · "}
          <PlaceLink
            to={{
              ...{ view: "syncs", sync: sync.id, search: "", sort: null },
              ...{ phase: null, cause: null },
            }}
          >
            sync
          </PlaceLink>
        </>
      )}
    </>
  );
}

const AROUND_US = 500;

/** The longest sync among a finding's examples; null where they are no syncs. */
export function longestSync(row: FindingRow): SyncRow | null {
  return row.examples.reduce<SyncRow | null>(
    (most, { sync }) =>
      sync !== null && (most === null || sync.sync.duration_us > most.sync.duration_us)
        ? sync
        : most,
    null,
  );
}

/** Where the timeline shows an example: what begins there, selected and in full, else the surroundings. */
export function exampleInTimeline(
  report: Pick<ReportData, "trace">,
  example: FindingExample,
): Partial<Place> {
  const { start, length, event } = example;
  if (length !== null) return inTimeline(report, example.start_us, length, event);
  return {
    ...inTimeline(report, example.start_us, 0),
    shown: { from: start - AROUND_US, to: start + AROUND_US },
  };
}
