import type { ReactElement } from "react";

import type { Cause, History, Runs, SlowSteps } from "../../api/schema";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { PlaceLink } from "../../parts/PlaceLink";
import { count, duration, NOTHING } from "../../text/formats";
import { HISTORY_DEFINITIONS as H, PART_DEFINITIONS } from "./definitions";
import { longerText, moduleOfBlock, placeOfRecording, stepsText, whenText } from "./model";

interface SlowListProps {
  history: History;
  listed: Runs;
  run: string;
}

/** Steps that were slow, what took longer in them, and the recording that shows it. */
export function SlowList({ history, listed, run }: SlowListProps): ReactElement {
  return (
    <section className="facet" aria-label="Slow steps">
      <h2>Slow steps</h2>
      {history.slow_steps.length === 0 ? (
        <p className="muted">No step was slow.</p>
      ) : (
        <SmallTable
          first={12}
          rows={history.slow_steps}
          keyOf={({ id }) => id}
          columns={[
            [H.slowAt, (slow) => whenText(slow, history)],
            [H.slow, (slow) => count(slow.steps)],
            [
              H.slowStep,
              (slow) => (
                <>
                  {duration(slow.step_us)} <span className="muted">{longerText(slow)}</span>
                </>
              ),
            ],
            [H.median, (slow) => duration(slow.median_us)],
            [H.excess, (slow) => duration(slow.excess_us)],
            [
              H.causes,
              (slow) => <Causes causes={slow.causes} several={history.ranks.length > 1} />,
              "history-causes",
            ],
            [
              H.recording,
              (slow) => <Recorded slow={slow} history={history} listed={listed} run={run} />,
            ],
          ]}
        />
      )}
    </section>
  );
}

function Causes({ causes, several }: { causes: readonly Cause[]; several: boolean }): ReactElement {
  if (causes.length === 0) return <span className="muted">unknown</span>;
  return (
    <ul>
      {causes.slice(0, 2).map((cause) => (
        <li key={`${cause.rank} ${cause.part} ${cause.block}`}>
          {several && `rank ${cause.rank}: `}
          <CauseName cause={cause} /> <span className="muted">+{duration(cause.excess_us)}</span>
        </li>
      ))}
    </ul>
  );
}

/** A part of the step, and the block where that is known. */
export function CauseName({
  cause: { part, block },
}: {
  cause: Pick<Cause, "part" | "block">;
}): ReactElement {
  const known = PART_DEFINITIONS[part as keyof typeof PART_DEFINITIONS] as
    (typeof PART_DEFINITIONS)["data"] | undefined;
  const title = known?.title ?? part;
  if (block === null) return <>{title}</>;
  return (
    <>
      {title} of <Name text={block === "" ? "(root)" : block} />
    </>
  );
}

function Recorded({
  slow,
  history,
  listed,
  run,
}: SlowListProps & { slow: SlowSteps }): ReactElement {
  const recording = history.recordings.find(({ id }) => id === slow.recording_id);
  const to = recording && placeOfRecording(recording, listed, run);
  if (!to) return <span className="muted">{NOTHING}</span>;
  const block = slow.causes.find((cause) => cause.block !== null)?.block ?? null;
  const module = block === null ? null : moduleOfBlock(block);
  const last = recording.start + recording.steps - 1;
  return (
    <>
      <PlaceLink to={{ ...to, module }} title="Open the recording, at this module">
        steps {stepsText({ first: recording.start, last })}
      </PlaceLink>
      {last < slow.first && <span className="muted"> before</span>}
      {recording.start > slow.last && <span className="muted"> after</span>}
    </>
  );
}
