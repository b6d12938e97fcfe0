import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Figure } from "../../components/Figure";
import { meansNote, stepsLength } from "../../report/measures";
import {
  avoidable,
  isHighlighted,
  lostIn,
  summarizeSyncs,
  syncsPerStep,
  type SyncRow,
} from "../../report/syncs";
import { count, durationParts } from "../../text/formats";
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
  const [blocked, blockedUnit] = durationParts(sum.blocked);
  const [perStep, perStepUnit] = durationParts(syncsPerStep(report, syncs).blocked);
  const [idle, idleUnit] = durationParts(sum.idle);
  const [longest, longestUnit] = durationParts(syncs.length === 0 ? null : sum.longest);
  const [profiler, profilerUnit] = durationParts(summarizeSyncs(all).blocked - sum.blocked);
  const steps = report.steps.length > 1 ? `sum over ${report.steps.length} steps` : "";
  const note = filtered ? "of those shown" : steps;
  const tone = (us: number | null): "look" | "plain" =>
    isHighlighted(us, whole) ? "look" : "plain";
  return (
    <dl className="figures">
      <Figure definition={D.count} number={count(syncs.length)} note={note} />
      <Figure
        definition={D.blocked}
        number={blocked}
        unit={blockedUnit}
        tone={tone(lostIn(sum.blocked, sum.idle))}
        note={note}
      />
      {report.per_step.of > 1 && (
        <Figure
          definition={D.perStep}
          number={perStep}
          unit={`${perStepUnit}/step`}
          note={filtered ? "of those shown" : meansNote(report)}
        />
      )}
      <Figure definition={D.idle} number={idle} unit={idleUnit} tone={tone(sum.idle)} note={note} />
      <Figure definition={D.longest} number={longest} unit={longestUnit} />
      <Figure definition={D.backward} number={count(sum.backward)} note={note} />
      {own > 0 && <Figure definition={D.profiler} number={profiler} unit={profilerUnit} />}
    </dl>
  );
}
