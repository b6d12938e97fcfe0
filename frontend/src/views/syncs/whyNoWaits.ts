import type { WireReport } from "../../api/types";

/** What resembles a host wait and is none; times in microseconds, null where it is not known. */
export interface NoWaits {
  deviceWaits: number;
  queueFull: number | null;
  queueFullUs: number | null;
  /** Calls that take or give back memory. */
  calls: number;
  blocked: number;
  idle: number | null;
}

export function noWaits(report: Pick<WireReport, "totals" | "allocations">): NoWaits {
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

/** Why there is no wait to list: none happened, or there is no device to wait for. */
export function whyNoWaits({ totals }: Pick<WireReport, "totals">): string {
  return Object.values(totals.device_busy_us).some((us) => us > 0)
    ? "The host never waits for the device in these steps."
    : "The trace holds no device work in these steps, so the host waits for none.";
}
