import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { deservesLook } from "../../model/attention";
import { count, durationParts } from "../../model/formats";
import { divisor, stepsLength, type Averaging } from "../../model/measures";
import { summarizeSyncs, type SyncRow } from "../../model/syncs";
import { Figure } from "../Figure";

interface SyncFiguresProps {
  report: WireReport;
  rows: readonly SyncRow[];
  filtered: boolean;
  averaging: Averaging;
}

/** What the calls in the table amount to. */
export function SyncFigures({ report, rows, filtered, averaging }: SyncFiguresProps): ReactElement {
  const by = divisor(report, averaging);
  const sum = summarizeSyncs(rows);
  const step = stepsLength(report);
  const [blocked, blockedUnit] = durationParts(sum.blocked / by);
  const [idle, idleUnit] = durationParts(sum.idle === null ? null : sum.idle / by);
  const [longest, longestUnit] = durationParts(rows.length === 0 ? null : sum.longest);
  const which = filtered ? "shown" : "";
  const per =
    report.steps.length < 2
      ? ""
      : averaging === "mean"
        ? "per step"
        : `in ${report.steps.length} steps`;
  const note = [which, per].filter((part) => part !== "").join(", ");
  return (
    <dl className="figures">
      <Figure
        definition={{ title: "host waits", text: "How often the host waited for the device." }}
        number={count(rows.length / by)}
        note={note}
      />
      <Figure
        definition={{ title: "host blocked", text: "How long these waits kept the host." }}
        number={blocked}
        unit={blockedUnit}
        tone={deservesLook(sum.blocked, step) ? "look" : "plain"}
        note={note}
      />
      <Figure
        definition={{
          title: "device idle caused",
          text: "How long the device had nothing to do because of them.",
        }}
        number={idle}
        unit={idleUnit}
        tone={deservesLook(sum.idle, step) ? "look" : "plain"}
        note={note}
      />
      <Figure
        definition={{ title: "longest", text: "The longest single wait." }}
        number={longest}
        unit={longestUnit}
      />
      <Figure
        definition={{
          title: "in backward",
          text: "How many of these waits are in the backward pass.",
        }}
        number={count(sum.backward / by)}
        note={per}
      />
    </dl>
  );
}
