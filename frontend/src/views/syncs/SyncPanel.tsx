import type { ReactElement } from "react";

import { findingPlace, syncInTimeline } from "../../address/links";
import type { Target } from "../../api/request";
import type { ReportData, RuleInfo } from "../../api/schema";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { Chain } from "../../parts/Chain";
import { Fix } from "../../parts/Fix";
import { PlaceLink } from "../../parts/PlaceLink";
import { ShowModule } from "../../parts/ShowModule";
import { SyncTimeline } from "../../parts/SyncTimeline";
import { usePlace } from "../../parts/services";
import { findingsOfSyncs, perText, placeText, priceBasis } from "../../report/findings";
import { meanStep, stepsLength } from "../../report/measures";
import { avoidable, isHighlighted, lostIn, type SyncRow, syncsPerStep } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { counted, duration } from "../../text/formats";
import { causeTitle, isProfiler } from "../../text/names";
import { SYNC_FACT_DEFINITIONS as D } from "./definitions";
import { common, longestOf, type SyncNode, whatText } from "./syncTree";

interface SyncPanelProps {
  report: ReportData;
  target: Target;
  node: SyncNode;
  rules: readonly RuleInfo[] | null;
  /** Show one sync among those of the table. */
  onReveal: (id: string) => void;
}

/** One sync, or those of a cause or a call site, with the chain that led to it: the evidence. */
export function SyncPanel(props: SyncPanelProps): ReactElement | null {
  const { report, target, node, rules } = props;
  const [, go] = usePlace();
  const row = longestOf(node);
  if (row === null) return null;
  const { sync } = row;
  const title = causeTitle(sync.cause, rules);
  const close = (): void => go({ sync: null });
  return (
    <SidePanel label="Sync" className="sync-panel row-panel" onClose={close}>
      <PanelHeader onClose={close}>
        <Name text={node.kind === "cause" ? title : whatText(node)} className="wrap" />
      </PanelHeader>
      <p className="muted">
        {node.kind !== "cause" && title !== sync.cause && <>{title} · </>}
        <bdi className="code">{sync.cause}</bdi>
      </p>
      <SyncFacts report={report} node={node} />
      <div className="links">
        <PlaceLink className="button" to={syncInTimeline(report, sync)}>
          Show in timeline
        </PlaceLink>
        <ShowModule module={sync.module} />
      </div>
      <Chain report={report} row={row} title={<Which {...props} id={row.id} />} />
      <SyncTimeline report={report} target={target} row={row} />
      <WaitedFor {...row} />
      <Fixes {...props} />
    </SidePanel>
  );
}

/** Which of several syncs is shown: their longest. */
function Which({ node, id, onReveal }: SyncPanelProps & { id: string }): ReactElement {
  if (node.rows.length === 1) return <>What happens</>;
  return (
    <>
      What happens in{" "}
      <button type="button" className="link" onClick={() => onReveal(id)}>
        the longest
      </button>
    </>
  );
}

function Fixes({ report, node, rules }: SyncPanelProps): ReactElement {
  const syncs = node.rows.map(({ sync }) => sync);
  const findings = findingsOfSyncs(report, syncs);
  const cause = syncs[0]?.cause ?? "";
  if (isProfiler(cause)) {
    return <p className="muted">The profiler makes this call itself: there is nothing to do.</p>;
  }
  const [first, ...rest] = findings;
  if (first === undefined) return <RuleFix cause={cause} rules={rules} />;
  return (
    <>
      <Fix finding={first} basis={priceBasis(report)} />
      {rest.length > 0 && (
        <p className="muted">
          {counted(rest.length, "more finding")} with this fix:{" "}
          {rest.map((finding, index) => (
            <span key={finding.id}>
              {index > 0 && "; "}
              <PlaceLink to={findingPlace(finding.id)}>
                <Name text={placeText(finding)} className="wrap" />
              </PlaceLink>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

interface RuleFixProps {
  cause: string;
  rules: readonly RuleInfo[] | null;
}

/** What a rule advises where no finding holds the syncs: in the first of several steps, say. */
function RuleFix({ cause, rules }: RuleFixProps): ReactElement | null {
  const rule = rules?.find(({ id }) => id === cause);
  if (rule === undefined) return null;
  return (
    <section className="fix" aria-label="Fix">
      <p>{rule.fix}</p>
      <p className="muted">Cost unknown: no finding holds these syncs.</p>
      <p className="muted">Reference: {rule.reference}</p>
    </section>
  );
}

interface SyncFactsProps {
  report: ReportData;
  node: SyncNode;
}

/** What a sync, or several, took from host and device. */
function SyncFacts({ report, node }: SyncFactsProps): ReactElement {
  const { sum, rows } = node;
  const single = rows.length === 1;
  const whole = single ? meanStep(report) : stepsLength(report);
  const look = avoidable(rows.map(({ sync }) => sync)).length > 0;
  const thread = common(node, ({ sync }) => sync.thread);
  return (
    <>
      <dl className="against">
        <Amount
          definition={D.blocked}
          us={sum.blocked}
          whole={sum.blocked}
          className={
            look && isHighlighted(lostIn(sum.blocked, sum.idle), whole) ? "blocked look" : "blocked"
          }
        />
        <Amount
          definition={D.idle}
          us={sum.idle}
          whole={sum.blocked}
          className={look && isHighlighted(sum.idle, whole) ? "idle look" : "idle"}
        />
      </dl>
      {!single && (
        <p className="muted" title={report.per_step.marked ? D.perStep.text : undefined}>
          {counted(rows.length, "sync")} in{" "}
          {report.per_step.marked ? counted(report.steps.length, "step") : "the trace"},{" "}
          {duration(
            syncsPerStep(
              report,
              rows.map(({ sync }) => sync),
            ).blocked,
          )}{" "}
          {perText(report)}
          {thread.value === null && `, on ${thread.different} threads`}
        </p>
      )}
    </>
  );
}

interface AmountProps {
  definition: Definition;
  us: number | null;
  whole: number;
  className: string;
}

/** An amount with a bar, so that host and device can be held against each other. */
function Amount({ definition, us, whole, className }: AmountProps): ReactElement {
  const share = us === null || whole <= 0 ? 0 : Math.min(1, us / whole);
  return (
    <div className={className} title={definition.text}>
      <dt>{definition.title}</dt>
      <dd>
        {duration(us)}
        {share > 0 && (
          <span
            className="against-bar"
            aria-hidden="true"
            style={{ inlineSize: `${share * 100}%` }}
          />
        )}
      </dd>
    </div>
  );
}

/** The work that a sync was for. */
function WaitedFor({ sync }: SyncRow): ReactElement {
  const { waited_for: work } = sync;
  if (work === null) return <p className="muted">No device events ended during the sync.</p>;
  return (
    <div title={D.waitedFor.text}>
      <p className="muted">
        {D.waitedFor.title} {duration(work.duration_us)} of work on device <bdi>{work.device}</bdi>,
        stream <bdi>{work.stream}</bdi>:
      </p>
      <Name kernel text={work.name} className="code wrap two" />
    </div>
  );
}
