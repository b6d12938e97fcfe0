import { type ReactElement, useState } from "react";

import type { Target } from "../../api/request";
import type { RunOverview, Runs } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { Segments } from "../../components/controls";
import { PlaceLink } from "../../parts/PlaceLink";
import { FEW_RANKS, type RunKey, useOverview, useRunKey } from "../../parts/run";
import { numberOf, rowsOf } from "../../parts/serverTable/rows";
import { usePlace, useProgress, useServices } from "../../parts/services";
import { ErrorCard, RecordSnippet } from "../../parts/states";
import { stepWords } from "../../report/stragglers";
import { count, counted, duration, percent } from "../../text/formats";
import { ratio } from "../../text/numbers";
import { BalanceList } from "./BalanceList";
import { CollectivePanel } from "./CollectivePanel";
import { HeatSection } from "./HeatSection";
import { RankPanel } from "./RankPanel";
import { CollectiveList, RankList as RankTable } from "./RunTable";
import { RunVerdict } from "./RunVerdict";
import { Stragglers } from "./Stragglers";
import { Together } from "./Together";
import { RANK_LISTS, type RankList } from "./address";
import { RANK_DEFINITIONS as D } from "./definitions";
import { useChangeRanks, useRunRows } from "./useRun";

interface RanksViewProps {
  target: Target;
  listed: Runs;
}

/** All ranks of the run: stragglers and why, step by step, and what is between them. */
export function RanksView({ target, listed }: RanksViewProps): ReactElement {
  const key = useRunKey(listed, target.run);
  const loaded = useOverview(key);
  if (loaded.status === "error") return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  if (loaded.value === null) return <Reading runKey={key} onStop={loaded.stop} />;
  if (loaded.value.nothing !== null) return <Nothing text={loaded.value.nothing} />;
  return (
    <div className="view" aria-busy={loaded.status === "loading"}>
      <div className="view-main server-table-view ranks">
        <RunVerdict run={loaded.value} />
        <RunFigures run={loaded.value} />
        <Omitted run={loaded.value} />
        <Stragglers run={loaded.value} />
        <OnAllRanks runKey={key} run={loaded.value} />
        <HeatSection runKey={key} run={loaded.value} />
        <Lists runKey={key} run={loaded.value} />
      </div>
      <Selected runKey={key} run={loaded.value} />
    </div>
  );
}

function Reading({ runKey, onStop }: { runKey: RunKey; onStop: () => void }): ReactElement {
  const { api } = useServices();
  const { run } = runKey;
  const progress = useProgress(api.ranks.progress, [run]);
  const done = progress?.done ?? null;
  const ranks = (JSON.parse(runKey.state) as unknown[]).length;
  return (
    <div className="state" role="status">
      <h1>Reading the traces of {counted(ranks, "rank")}</h1>
      <progress aria-label="Progress" max={1} {...(done === null ? {} : { value: done })} />
      <p className="muted progress-text">
        {done === null
          ? "waiting for the reader"
          : `${count(Math.round(done * ranks))} of ${count(ranks)} read`}
      </p>
      <button type="button" onClick={onStop}>
        Stop
      </button>
    </div>
  );
}

function Nothing({ text }: { text: string }): ReactElement {
  return (
    <div className="state wide">
      <h1>No ranks to compare</h1>
      <p className="message">{text}</p>
      <RecordSnippet />
    </div>
  );
}

function RunFigures({ run }: { run: RunOverview }): ReactElement {
  const { ranks, world_size, stragglers, marked, step_us, wait_us, clock_spread_us } = run;
  return (
    <dl className="figures">
      <Figure
        definition={D.ranks}
        number={count(ranks.length)}
        note={world_size === null ? "" : `of ${count(world_size)}`}
      />
      <DurationFigure definition={marked ? D.meanStep : D.meanLength} us={step_us} note="mean" />
      <DurationFigure
        definition={D.meanWait}
        us={wait_us}
        note={`${percent(ratio(wait_us, step_us))} of the ${stepWords(run).whole}`}
      />
      <Figure definition={D.late} number={count(stragglers.length)} note={doubtText(run)} />
      <DurationFigure definition={D.clocks} us={clock_spread_us} />
    </dl>
  );
}

/** How many of the stragglers may be late by chance. */
function doubtText({ stragglers }: RunOverview): string {
  const unsure = stragglers.filter(({ sure }) => !sure).length;
  return unsure > 0 ? `${count(unsure)} unsure` : "";
}

/** What of the run is not in the numbers. */
function Omitted({ run }: { run: RunOverview }): ReactElement | null {
  const { missing, missing_ranks, unreadable, unreadable_traces, unmatched, warnings } = run;
  const lines = [
    ...(missing > 0 ? [`No trace of ${listedRanks(missing_ranks, missing)}.`] : []),
    ...(unmatched > 0 ? [`${counted(unmatched, "collective")} without a counterpart.`] : []),
    ...warnings,
  ];
  if (lines.length + unreadable.length === 0) return null;
  return (
    <details className="ranks-omitted">
      <summary>
        {counted(lines.length + unreadable_traces, "note")} on what is missing or doubtful
      </summary>
      <ul>
        {lines.map((line, index) => (
          <li key={index}>
            <bdi>{line}</bdi>
          </li>
        ))}
        {unreadable.map(({ path, reason }) => (
          <li key={path}>
            <bdi>{path}</bdi> cannot be read: <bdi>{reason}</bdi>
          </li>
        ))}
      </ul>
    </details>
  );
}

const MOST_LISTED = 12;

function listedRanks(ranks: readonly number[], all: number): string {
  const shown = ranks.slice(0, MOST_LISTED).join(", ");
  const more = all - Math.min(ranks.length, MOST_LISTED);
  return `rank ${shown}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

const TITLES: Readonly<Record<RankList, string>> = {
  ranks: "Ranks",
  collectives: "Collectives",
  balance: "Balance",
};

interface PartProps {
  runKey: RunKey;
  run: RunOverview;
}

function Lists({ runKey, run }: PartProps): ReactElement {
  const [{ ranks: place }, go] = usePlace();
  return (
    <>
      <Segments
        label="List"
        segments={RANK_LISTS.map((value) => ({ value, title: TITLES[value] }))}
        chosen={place.list}
        onChoose={(list) =>
          go({ ranks: { ...place, list, page: 0, collective: null }, sort: null })
        }
      />
      {place.list === "ranks" && <RankTable runKey={runKey} run={run} />}
      {place.list === "collectives" && <CollectiveList runKey={runKey} run={run} />}
      {place.list === "balance" && <BalanceList balance={run.balance} />}
    </>
  );
}

const LONGEST = { table: "collectives", sort: ["-new_wait_us", "-wait_us"], limit: 1 };

/**
 * The picture of the collective that the address names; else, of few ranks with a straggler, that of
 * the longest wait, until it is closed; else the way to that.
 */
function OnAllRanks({ runKey, run }: PartProps): ReactElement {
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  const [closed, setClosed] = useState(false);
  const named = place.together ? place.collective : null;
  const rows = useRunRows(runKey, named === null ? LONGEST : null);
  const [longest] = rowsOf(rows.value);
  const unasked = !closed && run.stragglers.length > 0 && run.ranks.length <= FEW_RANKS;
  if (named !== null || (unasked && (longest !== undefined || rows.status === "loading"))) {
    const onClose = (): void => {
      setClosed(true);
      change({ together: false, others: 0 });
    };
    const id = named ?? (longest === undefined ? null : Number(longest.id));
    return <Together runKey={runKey} run={run} id={id} asked={named !== null} onClose={onClose} />;
  }
  return (
    <p className="longest-wait">
      {longest !== undefined && (
        <PlaceLink
          className="button"
          to={{ ranks: { ...place, collective: Number(longest.id), together: true, others: 0 } }}
        >
          Show the longest wait, {duration(numberOf(longest, "wait_us"))}, on all ranks
        </PlaceLink>
      )}
    </p>
  );
}

/** The panel of the collective or the rank that the address names. */
function Selected({ runKey, run }: PartProps): ReactElement | null {
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  if (place.collective !== null) {
    const onClose = (): void => change({ collective: null });
    return <CollectivePanel runKey={runKey} run={run} id={place.collective} onClose={onClose} />;
  }
  const at = place.rank === null ? -1 : run.ranks.indexOf(place.rank);
  if (at < 0) return null;
  const onClose = (): void => change({ rank: null, at: null });
  return <RankPanel runKey={runKey} run={run} place={at} step={place.at} onClose={onClose} />;
}
