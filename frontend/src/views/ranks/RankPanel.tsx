import type { ReactElement } from "react";

import type { Place } from "../../address/place";
import type { RunOverview } from "../../api/schema";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { PlaceLink } from "../../parts/PlaceLink";
import type { RunKey } from "../../parts/run";
import { RowFacts } from "../../parts/serverTable/RowPanel";
import { numberOf, rowsOf, type TableRow, textOf } from "../../parts/serverTable/rows";
import { usePlace } from "../../parts/services";
import { counted, duration } from "../../text/formats";
import { pathText, stepLabel } from "../../text/names";
import { kindText } from "./collectives";
import { meanColumns, STEP_COLUMNS } from "./columns";
import { timelineOf } from "./links";
import { useRunRows } from "./useRun";

const MOST = 10;

interface RankPanelProps {
  runKey: RunKey;
  run: RunOverview;
  /** Place of the rank among those of the run. */
  place: number;
  /** Name of its step; null for the mean of its steps. */
  step: string | null;
  onClose: () => void;
}

/** One rank, or one step of it: its figures, and the collectives to which it came last. */
export function RankPanel(props: RankPanelProps): ReactElement | null {
  const { runKey, run, place, step, onClose } = props;
  const rank = run.ranks[place] ?? 0;
  const of = step === null ? `id:eq:${place}` : `rank_id:eq:${place}`;
  const filter = step === null ? [of] : [of, `name:eq:${step}`];
  const table = step === null ? "ranks" : "rank_steps";
  const [row] = rowsOf(useRunRows(runKey, { table, filter, limit: 1 }).value);
  return (
    <SidePanel label="Rank" className="rank-panel" onClose={onClose}>
      <PanelHeader onClose={onClose}>
        <Name text={`Rank ${rank}${ofSteps(step, run.marked)}`} className="wrap" />
      </PanelHeader>
      <ToTimeline run={run} place={place} row={step === null ? undefined : row} />
      {row !== undefined && (
        <RowFacts row={row} columns={step === null ? meanColumns(run.marked) : STEP_COLUMNS} />
      )}
      <CameLast {...props} rank={rank} />
    </SidePanel>
  );
}

function ofSteps(step: string | null, marked: boolean): string {
  if (!marked) return ", its whole trace";
  return step === null ? ", mean of its steps" : `, step ${stepLabel(step)}`;
}

interface ToTimelineProps {
  run: RunOverview;
  place: number;
  row: TableRow | undefined;
}

/** The step in the timeline of that rank; without one, its whole timeline. */
function ToTimeline({ run, place, row }: ToTimelineProps): ReactElement {
  const start = row === undefined ? null : numberOf(row, "start_us");
  const length = row === undefined ? null : numberOf(row, "duration_us");
  const to =
    start === null || length === null
      ? { ...timelineOf(run, place, 0, 1), shown: null, range: null }
      : timelineOf(run, place, start, length);
  return (
    <PlaceLink className="button" to={to}>
      {start === null || !run.marked ? "Show its timeline" : "Show the step in its timeline"}
    </PlaceLink>
  );
}

/** The collectives for which the others waited longest for this rank. */
function CameLast({
  runKey,
  run,
  place,
  step,
  rank,
}: RankPanelProps & { rank: number }): ReactElement {
  const filter = [`late_rank:eq:${rank}`, ...(step === null ? [] : [`step:eq:${step}`])];
  const question = {
    table: "collectives",
    sort: ["-new_wait_us", "-wait_us"],
    filter,
    limit: MOST,
  };
  const found = useRunRows(runKey, question);
  const rows = rowsOf(found.value);
  const [{ ranks: shown }] = usePlace();
  const onAll = (row: TableRow): Partial<Place> => ({
    ranks: { ...shown, collective: Number(row.id), together: true, others: 0 },
  });
  return (
    <section aria-busy={found.status === "loading"}>
      <h3>
        {found.value === null
          ? "Collectives that it came last to"
          : `Came last to ${counted(found.value.total, "collective")}; how long the others waited`}
      </h3>
      <ol className="calls">
        {rows.map((row) => (
          <li key={String(row.id)}>
            <PlaceLink to={timelineOf(run, place, ...lateTimes(row))}>
              {kindText(textOf(row, "name"))}
            </PlaceLink>
            <span>{duration(numberOf(row, "wait_us"))}</span>
            <span>
              <PlaceLink to={onAll(row)}>on all ranks</PlaceLink>
            </span>
            {row.late_module !== null && (
              <span className="muted late-module">
                late in module <Name text={pathText(textOf(row, "late_module"))} className="code" />
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** When the straggler takes part in a collective, and for how long: the transfer. */
export function lateTimes(row: TableRow): [startUs: number, durationUs: number] {
  return [numberOf(row, "late_start_us") ?? 0, numberOf(row, "transfer_us") ?? 0];
}
