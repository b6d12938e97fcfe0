import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { Figure } from "../../components/Figure";
import { stepsLength } from "../../report/measures";
import { avoidable, isHighlighted, summarizeSyncs, type SyncRow } from "../../report/syncs";
import { count, durationParts } from "../../text/formats";
import { SYNC_FIGURE_DEFINITIONS as D } from "./definitions";

interface SyncFiguresProps {
  report: WireReport;
  rows: readonly SyncRow[];
  filtered: boolean;
}

/** What the calls in the table amount to: sums, as the table lists single events. */
export function SyncFigures({ report, rows, filtered }: SyncFiguresProps): ReactElement {
  const syncs = rows.map((row) => row.sync);
  const sum = summarizeSyncs(syncs);
  const worth = summarizeSyncs(avoidable(syncs));
  const whole = stepsLength(report);
  const [blocked, blockedUnit] = durationParts(sum.blocked);
  const [idle, idleUnit] = durationParts(sum.idle);
  const [longest, longestUnit] = durationParts(rows.length === 0 ? null : sum.longest);
  const steps = report.steps.length > 1 ? `in ${report.steps.length} steps` : "";
  const note = filtered ? "of those shown" : steps;
  const tone = (us: number | null): "look" | "plain" =>
    isHighlighted(us, whole) ? "look" : "plain";
  return (
    <dl className="figures">
      <Figure definition={D.count} number={count(rows.length)} note={note} />
      <Figure
        definition={D.blocked}
        number={blocked}
        unit={blockedUnit}
        tone={tone(worth.blocked)}
        note={note}
      />
      <Figure
        definition={D.idle}
        number={idle}
        unit={idleUnit}
        tone={tone(worth.idle)}
        note={note}
      />
      <Figure definition={D.longest} number={longest} unit={longestUnit} />
      <Figure definition={D.backward} number={count(sum.backward)} note={note} />
    </dl>
  );
}
