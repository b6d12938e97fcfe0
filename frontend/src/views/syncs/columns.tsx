import type { ReactNode } from "react";

import type { WireReport } from "../../api/types";
import { avoidable, deservesLook } from "../../model/attention";
import { SYNC_DEFINITIONS as D } from "../../model/definitions";
import { durationScale, NOTHING, scaledDuration, type DurationScale } from "../../model/formats";
import { stepsLength } from "../../model/measures";
import { pathText } from "../../model/moduleTree";
import type { SyncRow } from "../../model/syncs";
import { Name } from "../Name";
import type { Column } from "../table/features";

/** Columns of the table of host-blocking calls. */
export function syncColumns(
  report: WireReport,
  rows: readonly SyncRow[],
  search: string,
): Column<SyncRow>[] {
  const step = stepLength(report);
  const largest = (of: (row: SyncRow) => number | null): number =>
    rows.reduce((most, row) => Math.max(most, of(row) ?? 0), 0);
  const start = durationScale(largest((row) => row.start));
  const blocked = durationScale(largest((row) => row.sync.duration_us));
  const idle = durationScale(largest((row) => row.sync.device_idle_us));
  const wait = (row: SyncRow, us: number | null, scale: DurationScale): ReactNode => {
    const text = scaledDuration(us, scale);
    const look = avoidable([row.sync]).length > 0 && deservesLook(us, step);
    return look ? <strong className="look">{text}</strong> : text;
  };
  return [
    text("api", 0, ({ sync }) => <Name text={sync.api} className="code" mark={search} />),
    amount("blocked", 98, (row) => wait(row, row.sync.duration_us, blocked)),
    amount("idle", 84, (row) => wait(row, row.sync.device_idle_us, idle)),
    text("cause", 128, ({ sync }) => <Name text={sync.cause} mark={search} />),
    text("step", 48, ({ sync }) => named(shortStep(sync.step), "", search)),
    text("phase", 78, ({ sync }) => <Name text={sync.phase} className={`phase ${sync.phase}`} />),
    text("module", 114, ({ sync }) => named(moduleName(sync.module), "code", search)),
    text("node", 130, ({ sync }) => named(sync.node, "code", search)),
    text("operator", 104, ({ sync }) => named(sync.operator, "code", search)),
    text("thread", 60, ({ sync }) => named(sync.thread, "", search)),
    amount("start", 80, (row) => scaledDuration(row.start, start)),
  ];
}

function text(
  key: "api" | "cause" | "step" | "phase" | "module" | "node" | "operator" | "thread",
  width: number,
  render: (row: SyncRow) => ReactNode,
): Column<SyncRow> {
  return {
    id: key,
    accessorFn: (row) => row.sync[key],
    meta: { definition: D[key], width, align: "start" },
    cell: ({ row }) => render(row.original),
  };
}

const AMOUNTS = {
  start: (row: SyncRow) => row.start,
  blocked: ({ sync }: SyncRow) => sync.duration_us,
  idle: ({ sync }: SyncRow) => sync.device_idle_us,
} as const;

function amount(
  key: keyof typeof AMOUNTS,
  width: number,
  render: (row: SyncRow) => ReactNode,
): Column<SyncRow> {
  return {
    id: key,
    accessorFn: AMOUNTS[key],
    meta: { definition: D[key], width, align: "end" },
    cell: ({ row }) => render(row.original),
  };
}

function named(value: string | null, className: string, search: string): ReactNode {
  return value === null ? (
    <span className="muted">{NOTHING}</span>
  ) : (
    <Name text={value} className={className} mark={search} />
  );
}

function moduleName(path: string | null): string | null {
  return path === null ? null : pathText(path);
}

/** ProfilerStep#5 is step 5 to everyone. */
export function shortStep(name: string | null): string | null {
  return name?.replace(/^ProfilerStep#/, "") ?? null;
}

function stepLength(report: WireReport): number {
  const sum = stepsLength(report);
  return sum / Math.max(1, report.steps.length);
}
