import { Fragment, type ReactElement } from "react";

import type { RunOverview, Straggler, StragglerReason } from "../../api/schema";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { duration, percent } from "../../text/formats";
import { pathText } from "../../text/names";
import { findingsOf, moduleOf } from "./links";
import {
  isOne,
  oftenText,
  pipelineText,
  REASONS,
  stageText,
  stepWords,
} from "../../report/stragglers";
import { useChangeRanks } from "./useRun";

/** Reasons that are named. */
const MOST_REASONS = 3;

/** Part of the wait below which the reasons leave some of it unexplained. */
const EXPLAINED = 0.5;

/** Every straggler in order: why, what a step gains without that, and what is left; pipelines. */
export function Stragglers({ run }: { run: RunOverview }): ReactElement | null {
  const [shown, more] = useMore(run.stragglers, 5);
  if (shown.length + run.pipelines.length === 0) return null;
  const title = shown.length > 0 ? "Stragglers" : "Pipelines";
  return (
    <section className="facet late-ranks" aria-label={title}>
      <h2>{title}</h2>
      {shown.length > 0 && (
        <ol>
          {shown.map((late) => (
            <li key={late.id}>
              <Late run={run} late={late} />
            </li>
          ))}
        </ol>
      )}
      {more}
      {run.pipelines.map((pipeline) => (
        <p key={pipeline.id}>{pipelineText(pipeline, stepWords(run).per)}</p>
      ))}
    </section>
  );
}

function Late({ run, late }: { run: RunOverview; late: Straggler }): ReactElement {
  const change = useChangeRanks();
  const place = run.ranks.indexOf(late.rank);
  const often = oftenText(run, late);
  return (
    <>
      <p>
        <button
          type="button"
          className="link late-rank"
          onClick={() => change({ rank: late.rank, at: null, collective: null })}
        >
          Rank {late.rank}
        </button>{" "}
        {late.id === 0
          ? `${isOne(late)}: the others wait `
          : "is next: with those above fixed the others still wait "}
        <strong>{duration(late.wait_caused_us)}</strong> {stepWords(run).per} for it (
        {percent(late.share)}){often}.
      </p>
      <p>
        <Why run={run} late={late} place={place} />
        {late.finding !== null && (
          <>
            {" "}
            Its finding:{" "}
            <PlaceLink to={findingsOf(run, place, late.finding)}>{late.finding}</PlaceLink>.
          </>
        )}
      </p>
    </>
  );
}

interface WhyProps {
  run: RunOverview;
  late: Straggler;
  place: number;
}

function Why({ run, late, place }: WhyProps): ReactElement {
  const [first, ...rest] = late.reasons;
  if (first === undefined) return <>What it spends the time on is unknown.</>;
  const total = late.reasons.reduce((sum, reason) => sum + reason.excess_us, 0);
  return (
    <>
      It spends <strong>{duration(total)}</strong> more than the others
      {rest.length === 0 ? " " : ": "}
      {late.reasons.slice(0, MOST_REASONS).map((reason, index) => (
        <Fragment key={index}>
          {index > 0 && ", "}
          {rest.length > 0 && `${duration(reason.excess_us)} `}
          <Reason run={run} reason={reason} place={place} />
        </Fragment>
      ))}
      {late.reasons.length > MOST_REASONS && ` and ${late.reasons.length - MOST_REASONS} more`}.
      Without that a {stepWords(run).whole} takes <strong>{duration(late.left_step_us)}</strong>,{" "}
      <strong>{duration(late.gain_us_per_step)}</strong> less.
      {late.stage !== null && ` ${stageText(late.stage)}`}
      {total < EXPLAINED * late.wait_caused_us &&
        ` The cause of ${duration(late.wait_caused_us - total)} of the wait is unknown.`}
    </>
  );
}

interface ReasonProps {
  run: RunOverview;
  reason: StragglerReason;
  place: number;
}

function Reason({ run, reason, place }: ReasonProps): ReactElement {
  if (reason.module === null) return <>{REASONS[reason.reason] ?? reason.reason}</>;
  return (
    <>
      in module{" "}
      <PlaceLink to={moduleOf(run, place, reason.module)}>
        <Name text={pathText(reason.module)} className="code" />
      </PlaceLink>
      {reason.phase !== null && ` (${reason.phase})`}
    </>
  );
}
