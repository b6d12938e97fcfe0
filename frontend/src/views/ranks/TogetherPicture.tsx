import type { CSSProperties, ReactElement } from "react";

import type { CollectiveRanks, RankActivity, RunOverview } from "../../api/schema";
import { Term } from "../../components/Tip";
import { PlaceLink } from "../../parts/PlaceLink";
import { textOf, type TableRow } from "../../parts/serverTable/rows";
import { counted, duration } from "../../text/formats";
import type { RunKey } from "../../parts/run";
import { COLLECTIVE_DEFINITIONS as C, RANK_DEFINITIONS as D } from "./definitions";
import { timelineOf } from "./links";
import {
  BLOCK_TEXTS,
  doubtOf,
  kindsOf,
  lanesOf,
  rowsTogether,
  ticksTogether,
  usedLanes,
  type Lane,
  type Part,
  type Row,
} from "./together";
import { useActivities, type Activities } from "./useRun";

export interface PictureProps {
  runKey: RunKey;
  run: RunOverview;
  /** Id of the collective. */
  id: number;
  /** Its row of the table of collectives. */
  row: TableRow;
  shown: CollectiveRanks;
}

/** A row for each rank: what its host and devices ran, when it came, waited and transferred. */
export function Picture({ runKey, run, id, row, shown }: PictureProps): ReactElement {
  const rows = rowsTogether(shown);
  const lateFirst = [...rows].sort((a, b) => Number(b.late) - Number(a.late));
  const activities = useActivities(
    runKey,
    id,
    lateFirst.map(({ rank }) => rank),
  );
  const module = row.late_module === null ? null : textOf(row, "late_module");
  const lanes = usedLanes(
    rows.map(({ rank }) => activityLanes(activities, rank, shown.length_us, module)),
  );
  const failed = rows.filter(({ rank }) => activities.get(rank) === null);
  return (
    <figure className="together-picture" aria-busy={activities.size < rows.length}>
      <ol>
        {rows.map((each, index) => (
          <RankRow
            key={each.rank}
            row={each}
            lanes={lanes[index] ?? []}
            link={{ run, shown }}
            doubt={doubtOf(shown)}
          />
        ))}
      </ol>
      <Ticks shown={shown} />
      <figcaption className="muted">
        <Legend lanes={lanes.flat()} />
        <p>
          Times since the first arrival. The <Term text={D.clocks.text}>clocks</Term> are known to
          within <strong>{duration(shown.clock_spread_us)}</strong>, the grey band around the late
          arrival: events closer together may have another order.
          {failed.length > 0 && <> What {counted(failed.length, "rank")} ran could not be read.</>}
        </p>
      </figcaption>
    </figure>
  );
}

function activityLanes(
  activities: Activities,
  rank: number,
  lengthUs: number,
  module: string | null,
): Lane[] {
  const found: RankActivity | null | undefined = activities.get(rank);
  return found === null || found === undefined ? [] : lanesOf(found, lengthUs, module);
}

interface RankRowProps {
  row: Row;
  lanes: readonly Lane[];
  link: { run: RunOverview; shown: CollectiveRanks };
  doubt: Part | null;
}

function RankRow({ row, lanes, link: { run, shown }, doubt }: RankRowProps): ReactElement {
  const part = shown.ranks.find(({ rank }) => rank === row.rank);
  const length = row.waitUs + shown.transfer_us;
  const to = timelineOf(run, run.ranks.indexOf(row.rank), part?.own_start_us ?? 0, length);
  return (
    <li className={row.late ? "late" : ""}>
      <span className="together-rank">
        <PlaceLink to={to}>rank {row.rank}</PlaceLink>
      </span>
      <div className="together-lanes" role="img" aria-label={said(row)}>
        {doubt !== null && <span className="together-doubt" style={across(doubt)} />}
        {(lanes.length === 0 ? [EMPTY] : lanes).map((lane) => (
          <div key={lane.name} className="together-lane">
            {lane.blocks.map((block) => (
              <span
                key={block.from}
                className={`together-block ${block.kind}`}
                style={across(block)}
                title={`${lane.name}: ${block.text}`}
              >
                {block.width >= ROOM && <bdi>{block.text}</bdi>}
              </span>
            ))}
          </div>
        ))}
        <div className="together-lane collective">
          <span className="together-block wait" style={across(row.wait)} />
          <span className="together-block transfer" style={across(row.transfer)} />
        </div>
      </div>
      <span className="together-said">
        {row.late ? "came last" : `waits ${duration(row.waitUs)}`}
      </span>
    </li>
  );
}

const EMPTY: Lane = { name: "host", blocks: [] };
/** Blocks of this share of the width have room for a name. */
const ROOM = 0.09;

function said({ rank, late, cameUs, waitUs }: Row): string {
  const came = `Rank ${rank} comes ${duration(cameUs)} after the first`;
  return late ? `${came}, as the last` : `${came} and waits ${duration(waitUs)}`;
}

function across({ from, width }: Part): CSSProperties {
  return { left: `${from * 100}%`, width: `${width * 100}%` };
}

function Ticks({ shown }: { shown: CollectiveRanks }): ReactElement {
  return (
    <div className="together-ticks" aria-hidden="true">
      {ticksTogether(shown).map(({ us, at }) => (
        <span key={us} style={{ left: `${at * 100}%` }}>
          {tick(us)}
        </span>
      ))}
    </div>
  );
}

function tick(us: number): string {
  return `${us < 0 ? "−" : ""}${duration(Math.abs(us))}`.replace(/\.0+ /, " ");
}

function Legend({ lanes }: { lanes: readonly Lane[] }): ReactElement {
  return (
    <ul className="together-legend">
      {kindsOf(lanes).map((kind) => (
        <li key={kind}>
          <span className={`swatch together-block ${kind}`} aria-hidden="true" />
          {BLOCK_TEXTS[kind]}
        </li>
      ))}
      <li>
        <span className="swatch together-block wait" aria-hidden="true" />
        <Term text={C.wait.text}>wait in the collective</Term>
      </li>
      <li>
        <span className="swatch together-block transfer" aria-hidden="true" />
        <Term text={C.transfer.text}>transfer</Term>
      </li>
    </ul>
  );
}
