import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { History, Runs } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { useAsk, useServices } from "../../parts/services";
import { ErrorCard, Snippet } from "../../parts/states";
import { bytes, count, counted, duration } from "../../text/formats";
import { PartCurve } from "./PartCurve";
import { CauseName, SlowList } from "./SlowList";
import { StepCurve } from "./StepCurve";
import { HISTORY_DEFINITIONS as H } from "./definitions";
import { stepsText } from "./model";

interface HistoryViewProps {
  target: Target;
  listed: Runs;
}

/** A watched training run from its first step to its last: when it was slow, where, on which rank. */
export function HistoryView({ target: { run }, listed }: HistoryViewProps): ReactElement {
  const { api } = useServices();
  const loaded = useAsk(api.history, [run]);
  if (loaded.status === "error") {
    if (loaded.error.kind === "not_found") return <NotWatched />;
    return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  }
  if (loaded.value === null)
    return (
      <div className="view-main" aria-busy="true">
        <p className="notice" role="status">
          Reading the steps…
        </p>
      </div>
    );
  return (
    <div className="view">
      <div className="view-main history" aria-busy={loaded.status === "loading"}>
        <Figures history={loaded.value} />
        <Notes history={loaded.value} />
        <section className="facet" aria-label="Step time">
          <h2>
            Step time{" "}
            <span className="muted">
              median, and shortest to longest of {counted(loaded.value.ranks.length, "rank")};
              circles are recordings
            </span>
          </h2>
          <StepCurve history={loaded.value} listed={listed} run={run} />
        </section>
        <SlowRanks history={loaded.value} />
        <PartCurve history={loaded.value} />
        <SlowList history={loaded.value} listed={listed} run={run} />
      </div>
    </div>
  );
}

function Figures({ history }: { history: History }): ReactElement {
  const memory = history.ranks.map(({ memory_bytes }) => memory_bytes ?? 0);
  return (
    <dl className="figures">
      <DurationFigure definition={H.step} us={history.step_us} />
      <Figure
        definition={H.steps}
        number={stepsText({ first: history.first_step, last: history.last_step })}
      />
      <Figure definition={H.slow} number={count(history.slow_steps_total)} />
      <DurationFigure definition={H.excess} us={history.slow_excess_us} />
      <Figure definition={H.memory} number={bytes(Math.max(...memory) || null)} />
    </dl>
  );
}

function Notes({ history }: { history: History }): ReactElement | null {
  const lines = history.ranks.reduce((sum, { lost_lines }) => sum + lost_lines, 0);
  const missing = history.ranks.reduce((sum, { missing_steps }) => sum + missing_steps, 0);
  const notes = [
    history.missing_ranks.length > 0 &&
      `no steps of ${counted(history.missing_ranks.length, "rank")}`,
    lines > 0 && `${counted(lines, "line")} could not be read`,
    missing > 0 && `${counted(missing, "step")} without a row`,
    history.earlier > 0 &&
      `${counted(history.earlier, "earlier watch")} of the same folder left out`,
  ].filter((note) => note !== false);
  return notes.length === 0 ? null : <p className="notice">{notes.join("; ")}.</p>;
}

function SlowRanks({ history }: { history: History }): ReactElement | null {
  if (history.ranks.length < 2) return null;
  return (
    <section className="facet" aria-label="Slow ranks">
      <h2>Ranks that take longer than the others</h2>
      {history.slow_ranks.length === 0 ? (
        <p className="muted">None consistently does.</p>
      ) : (
        <ul>
          {history.slow_ranks.map((row) => (
            <li key={row.id}>
              Rank {row.rank}: <CauseName cause={row} />, <strong>{duration(row.excess_us)}</strong>{" "}
              longer per step, in {row.windows} of {row.of_windows} parts of the run
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const SNIPPET = `with hookview.watch("runs/vit", model=model) as watch:
    for batch in loader:
        ...
        watch.step()`;

function NotWatched(): ReactElement {
  return (
    <div className="state">
      <h1>This run was not watched</h1>
      <p className="message">
        A watched run logs the time of each step, and records the slow ones by itself:
      </p>
      <Snippet text={SNIPPET} />
    </div>
  );
}
