import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { meansNote, stepsLength } from "../../report/measures";
import {
  avoidable,
  isHighlighted,
  lostIn,
  summarizeSyncs,
  type SyncRow,
  syncsPerStep,
} from "../../report/syncs";
import { count, counted, duration } from "../../text/formats";
import { SYNC_FIGURE_DEFINITIONS as D, OTHER_STALL_DEFINITIONS as O } from "./definitions";

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
  const known = report.totals.sync_count !== null;
  const whole = stepsLength(report);
  const steps = report.steps.length > 1 ? `in ${report.steps.length} steps` : "";
  const note = filtered ? "of those shown" : steps;
  const tone = (us: number | null): "look" | "plain" =>
    isHighlighted(us, whole) ? "look" : "plain";
  return (
    <dl className="figures">
      <Figure definition={D.count} number={count(known ? syncs.length : null)} note={note} />
      <DurationFigure
        definition={D.blocked}
        us={known ? sum.blocked : null}
        tone={tone(lostIn(sum.blocked, sum.idle))}
        note={note}
      />
      {report.per_step.of > 1 && (
        <DurationFigure
          definition={D.perStep}
          us={known ? syncsPerStep(report, syncs).blocked : null}
          per="/step"
          note={filtered ? "of those shown" : meansNote(report)}
        />
      )}
      <DurationFigure definition={D.idle} us={sum.idle} tone={tone(sum.idle)} note={note} />
      <DurationFigure definition={D.longest} us={syncs.length === 0 ? null : sum.longest} />
      <Figure definition={D.backward} number={count(known ? sum.backward : null)} note={note} />
      {own > 0 && (
        <DurationFigure definition={D.profiler} us={summarizeSyncs(all).blocked - sum.blocked} />
      )}
    </dl>
  );
}

/** What resembles a sync and is not one, listed apart from the syncs. */
export function OtherStalls({ report }: { report: ReportData }): ReactElement {
  const { deviceWaits, queueFull, queueFullUs, calls, blocked, idle } = otherStalls(report);
  return (
    <section className="other-stalls" aria-label="Not syncs">
      <span className="muted">Not syncs:</span>
      <span title={O.deviceWaits.text}>
        <strong>{count(deviceWaits)}</strong> {O.deviceWaits.title}
      </span>
      <span title={O.queueFull.text}>
        <strong>{count(queueFull)}</strong> {O.queueFull.title}
        {(queueFullUs ?? 0) > 0 && `, ${duration(queueFullUs)}`}
      </span>
      {calls === 0 ? (
        <span title={O.allocations.text}>
          <strong>0</strong> {O.allocations.title}
        </span>
      ) : (
        <details>
          <summary title={O.allocations.text}>
            <strong>{count(calls)}</strong> {O.allocations.title}, {duration(blocked)} of the host,
            device idle {duration(idle)}
          </summary>
          <Allocations report={report} />
        </details>
      )}
    </section>
  );
}

function Allocations({ report }: { report: ReportData }): ReactElement {
  return (
    <SmallTable
      caption={
        <caption className="muted">
          {counted(report.allocations.length, "call")} that allocate or free memory
        </caption>
      }
      rows={report.allocations}
      keyOf={({ id }) => id}
      columns={[
        ["call", (row) => <Name text={row.api} className="code" />],
        [O.allocationCount, (row) => count(row.count)],
        [O.allocationBlocked, (row) => duration(row.blocked_us)],
        [O.allocationIdle, (row) => duration(row.device_idle_us)],
      ]}
    />
  );
}

/** What resembles a sync and is not one; times in microseconds, null where it is not known. */
interface OtherStallTotals {
  deviceWaits: number | null;
  queueFull: number | null;
  queueFullUs: number | null;
  /** Calls that allocate or free memory. */
  calls: number;
  blocked: number;
  idle: number | null;
}

export function otherStalls(report: Pick<ReportData, "totals" | "allocations">): OtherStallTotals {
  const { totals, allocations } = report;
  const idle = allocations.flatMap(({ device_idle_us: us }) => (us === null ? [] : [us]));
  return {
    deviceWaits: totals.device_wait_count,
    queueFull: totals.queue_full_count,
    queueFullUs: totals.queue_full_us,
    calls: allocations.reduce((sum, row) => sum + row.count, 0),
    blocked: allocations.reduce((sum, row) => sum + row.blocked_us, 0),
    idle: idle.length === 0 ? null : idle.reduce((sum, us) => sum + us, 0),
  };
}

/** Why there is no sync to list: unknown, none happened, or there is no device to wait for. */
export function whyNoSyncs({ totals }: Pick<ReportData, "totals">): string {
  if (totals.sync_count === null)
    return "No call of a device's runtime was recorded: whether the host waited is unknown.";
  return Object.values(totals.device_busy_us).some((us) => us > 0)
    ? "The host never syncs with the device here."
    : "There are no device events here, so there is nothing to sync with.";
}
