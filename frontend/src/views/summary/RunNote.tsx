import { useState, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData, Runs } from "../../api/schema";
import { PlaceLink } from "../../parts/PlaceLink";
import { counted } from "../../text/formats";
import { stragglersText } from "../../report/stragglers";
import { useOverview, useRunKey, type RunKey } from "../../parts/run";

/** Ranks of which all traces are read unasked. */
const FEW_RANKS = 16;

interface RunNoteProps {
  report: ReportData;
  target: Target;
  listed: Runs;
}

/** For whom the ranks of the run wait; nothing where the trace is the only one. */
export function RunNote({ report, target, listed }: RunNoteProps): ReactElement | null {
  const key = useRunKey(listed, target.run);
  const workers = listed.runs.find(({ name }) => name === target.run)?.workers.length ?? 0;
  const [asked, setAsked] = useState(false);
  if (workers < 2 || (report.trace.world_size ?? 1) < 2) return null;
  return (
    <section className="facet run-note" aria-label="Ranks of the run">
      {asked || workers <= FEW_RANKS ? (
        <Stragglers runKey={key} workers={workers} />
      ) : (
        <button type="button" className="link" onClick={() => setAsked(true)}>
          Read the {counted(workers, "trace")} of this run to find stragglers
        </button>
      )}
    </section>
  );
}

function Stragglers({ runKey, workers }: { runKey: RunKey; workers: number }): ReactElement {
  const { value, status } = useOverview(runKey);
  const ranks = <PlaceLink to={{ view: "ranks" }}>{counted(workers, "rank")}</PlaceLink>;
  if (value === null) {
    return <p className="muted">{status === "error" ? ranks : <>Reading {ranks} ...</>}</p>;
  }
  return (
    <p>
      {ranks}: {value.nothing ?? stragglersText(value)}
    </p>
  );
}
