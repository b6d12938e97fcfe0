import type { ReactElement } from "react";

import type { WireRunOverview, WireStraggler } from "../../api/types";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { duration, percent } from "../../text/formats";
import { pathText } from "../../text/names";
import { findingsOf, moduleOf } from "./links";
import { useChangeRanks } from "./useRun";

/** Ranks for which the others wait, why, and what fixing that saves per step. */
export function Stragglers({ run }: { run: WireRunOverview }): ReactElement {
  const [shown, more] = useMore(run.stragglers, 5);
  return (
    <section className="facet late-ranks" aria-label="Stragglers">
      <h2>Stragglers</h2>
      {shown.length === 0 ? (
        <p className="muted">No rank is a straggler in most steps.</p>
      ) : (
        <ul>
          {shown.map((late) => (
            <li key={late.id}>
              <Late run={run} late={late} />
            </li>
          ))}
        </ul>
      )}
      {more}
    </section>
  );
}

function Late({ run, late }: { run: WireRunOverview; late: WireStraggler }): ReactElement {
  const change = useChangeRanks();
  const place = run.ranks.indexOf(late.rank);
  return (
    <>
      <p>
        <button
          type="button"
          className="link late-rank"
          onClick={() => {
            change({ rank: late.rank, at: null, collective: null });
          }}
        >
          Rank {late.rank}
        </button>{" "}
        is a straggler: the others wait <strong>{duration(late.wait_caused_us)}</strong> per step
        for it ({percent(late.share)}), in {late.steps} of {late.of_steps} steps.
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

const REASONS: Readonly<Record<string, string>> = {
  data: "in its data loader",
  optimizer: "in its optimizer",
  sync: "waiting for its device",
  host: "on its host, in no module",
};

interface WhyProps {
  run: WireRunOverview;
  late: WireStraggler;
  place: number;
}

function Why({ run, late, place }: WhyProps): ReactElement {
  if (late.reason === null) return <>What it spends the time on is unknown.</>;
  return (
    <>
      It spends <strong>{duration(late.excess_us)}</strong> more{" "}
      {late.module === null ? (
        (REASONS[late.reason] ?? late.reason)
      ) : (
        <>
          in module{" "}
          <PlaceLink to={moduleOf(run, place, late.module)}>
            <Name text={pathText(late.module)} className="code" />
          </PlaceLink>
        </>
      )}{" "}
      than the others; fixing that saves <strong>{duration(late.gain_us_per_step)}</strong> per
      step.
    </>
  );
}
