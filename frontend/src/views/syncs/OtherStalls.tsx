import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { count, counted, duration } from "../../text/formats";
import { OTHER_STALL_DEFINITIONS as D } from "./definitions";

/** What resembles a sync and is not one, listed apart from the syncs. */
export function OtherStalls({ report }: { report: ReportData }): ReactElement {
  const { deviceWaits, queueFull, queueFullUs, calls, blocked, idle } = otherStalls(report);
  return (
    <section className="other-stalls" aria-label="Not syncs">
      <span className="muted">Not syncs:</span>
      <span title={D.deviceWaits.text}>
        <strong>{count(deviceWaits)}</strong> {D.deviceWaits.title}
      </span>
      <span title={D.queueFull.text}>
        <strong>{count(queueFull)}</strong> {D.queueFull.title}
        {(queueFullUs ?? 0) > 0 && `, ${duration(queueFullUs)}`}
      </span>
      {calls === 0 ? (
        <span title={D.allocations.text}>
          <strong>0</strong> {D.allocations.title}
        </span>
      ) : (
        <details>
          <summary title={D.allocations.text}>
            <strong>{count(calls)}</strong> {D.allocations.title}, {duration(blocked)} of the host,
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
        [D.allocationCount, (row) => count(row.count)],
        [D.allocationBlocked, (row) => duration(row.blocked_us)],
        [D.allocationIdle, (row) => duration(row.device_idle_us)],
      ]}
    />
  );
}

/** What resembles a sync and is not one; times in microseconds, null where it is not known. */
export interface OtherStallTotals {
  deviceWaits: number;
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

/** Why there is no sync to list: none happened, or there is no device to wait for. */
export function whyNoSyncs({ totals }: Pick<ReportData, "totals">): string {
  return Object.values(totals.device_busy_us).some((us) => us > 0)
    ? "The host never syncs with the device in these steps."
    : "The trace holds no device events in these steps, so there is nothing to sync with.";
}
