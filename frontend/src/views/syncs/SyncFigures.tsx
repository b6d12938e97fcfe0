import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { meansNote, stepsLength } from "../../report/measures";
import {
  avoidable,
  isHighlighted,
  lostIn,
  summarizeSyncs,
  type SyncRow,
  syncsPerStep,
} from "../../report/syncs";
import { count } from "../../text/formats";
import { SYNC_FIGURE_DEFINITIONS as D } from "./definitions";

interface SyncFiguresProps {
  report: ReportData;
  rows: readonly SyncRow[];
  filtered: boolean;
}

/** What the calls in the table amount to: sums, as the table lists single events. */
export function SyncFigures({ report, rows, filtered }: SyncFiguresProps): ReactElement {
  const all = rows.map((row) => row.sync);
  const syncs = avoidable(all);
  const sum = summarizeSyncs(syncs);
  const own = all.length - syncs.length;
  const whole = stepsLength(report);
  const steps = report.steps.length > 1 ? `sum over ${report.steps.length} steps` : "";
  const note = filtered ? "of those shown" : steps;
  const tone = (us: number | null): "look" | "plain" =>
    isHighlighted(us, whole) ? "look" : "plain";
  return (
    <dl className="figures">
      <Figure definition={D.count} number={count(syncs.length)} note={note} />
      <DurationFigure
        definition={D.blocked}
        us={sum.blocked}
        tone={tone(lostIn(sum.blocked, sum.idle))}
        note={note}
      />
      {report.per_step.of > 1 && (
        <DurationFigure
          definition={D.perStep}
          us={syncsPerStep(report, syncs).blocked}
          per="/step"
          note={filtered ? "of those shown" : meansNote(report)}
        />
      )}
      <DurationFigure definition={D.idle} us={sum.idle} tone={tone(sum.idle)} note={note} />
      <DurationFigure definition={D.longest} us={syncs.length === 0 ? null : sum.longest} />
      <Figure definition={D.backward} number={count(sum.backward)} note={note} />
      {own > 0 && (
        <DurationFigure definition={D.profiler} us={summarizeSyncs(all).blocked - sum.blocked} />
      )}
    </dl>
  );
}
