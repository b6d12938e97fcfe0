import type { ReactElement } from "react";

import { deservesLook } from "../../model/attention";
import { MODULE_DEFINITIONS as D, type Definition } from "../../model/definitions";
import {
  count,
  countOrNothing,
  durationScale,
  percent,
  scaledDuration,
  times,
  type DurationScale,
} from "../../model/formats";
import type { Measure, ModuleNumbers, NumberKey } from "../../model/measures";
import type { Column } from "../table/features";
import { ModuleCell } from "./ModuleCell";
import type { ModuleRow } from "./moduleRow";

/** What the cells need beyond their row. */
export interface CellSettings {
  measure: Measure;
  numbers: readonly ModuleNumbers[];
  /** Backward time of everything: the full width of a bar. */
  whole: number;
  /** Unit and precision of the columns of backward time, the last row's included. */
  scale: DurationScale;
  /** Mean or total length of the selected steps: what a wait is held against. */
  step: number;
  search: string;
  onFold: (index: number, open: boolean) => void;
}

type Render = (numbers: ModuleNumbers) => ReactElement | string;

/** The columns for device time, or for host time where the trace holds no device. */
export function moduleColumns(settings: CellSettings): Column<ModuleRow>[] {
  const device = settings.measure === "device";
  const bar = (key: "total" | "self"): Render => barCell(key, settings.scale, settings.whole);
  const columns = [
    moduleColumn(settings),
    column("calls", D.calls, 42, (n) => count(n.calls)),
    column("total", device ? D.deviceTotal : D.hostTotal, 96, bar("total")),
    column("self", device ? D.deviceSelf : D.hostSelf, 78, bar("self")),
    column("share", D.share, 54, (n) => percent(n.share)),
  ];
  if (settings.numbers.some((n) => (n.communication ?? 0) > 0)) {
    const render = plainDuration(settings, "communication");
    const cell: Render = (n) => (n.communication === 0 ? "—" : render(n));
    columns.push(column("communication", D.communication, 92, cell));
  }
  if (device) columns.push(column("host", D.host, 70, plainDuration(settings, "host")));
  columns.push(column("ratio", D.ratio, 74, (n) => times(n.ratio)));
  if (device) columns.push(column("kernels", D.kernels, 56, (n) => count(n.kernels)));
  columns.push(
    column("syncs", D.syncs, 48, (n) => countOrNothing(n.syncs)),
    column("wait", D.wait, 72, waitCell(settings, "wait")),
  );
  if (device) columns.push(column("idle", D.idle, 82, waitCell(settings, "idle")));
  return columns;
}

function moduleColumn(settings: CellSettings): Column<ModuleRow> {
  return {
    id: "module",
    accessorFn: (row) => row.node.path,
    meta: { definition: D.module, width: 0, align: "start" },
    cell: ({ row }) => (
      <ModuleCell row={row.original} search={settings.search} onFold={settings.onFold} />
    ),
  };
}

function column(
  key: NumberKey,
  definition: Definition,
  width: number,
  render: Render,
): Column<ModuleRow> {
  return {
    id: key,
    accessorFn: (row) => row.numbers[key],
    meta: { definition, width, align: "end" },
    cell: ({ row }) => render(row.original.numbers),
  };
}

function scaleOf(settings: CellSettings, key: NumberKey): DurationScale {
  return durationScale(settings.numbers.reduce((most, n) => Math.max(most, n[key] ?? 0), 0));
}

/** The scale for totals and own times of modules and for what belongs to none. */
export function totalScale(numbers: readonly ModuleNumbers[], rest: number | null): DurationScale {
  return durationScale(numbers.reduce((most, n) => Math.max(most, n.total ?? 0), rest ?? 0));
}

function plainDuration(settings: CellSettings, key: NumberKey): Render {
  const scale = scaleOf(settings, key);
  return (n) => scaledDuration(n[key], scale);
}

function barCell(key: "total" | "self", scale: DurationScale, whole: number): Render {
  return (n) => (
    <Bar text={scaledDuration(n[key], scale)} part={whole > 0 ? (n[key] ?? 0) / whole : 0} />
  );
}

/** A number with a small bar below it that shows its share. */
export function Bar({ text, part }: { text: string; part: number }): ReactElement {
  if (part <= 0) return <>{text}</>;
  return (
    <>
      {text}
      <span
        className="bar"
        style={{ width: `calc(${Math.min(1, part) * 100}% - 12px * ${part})` }}
      />
    </>
  );
}

function waitCell(settings: CellSettings, key: "wait" | "idle"): Render {
  const scale = scaleOf(settings, key);
  return (n) => {
    const value = n[key];
    // No wait is worth no ink, and an idle time without a wait is not one of these.
    if (n.syncs === 0) return "—";
    const text = scaledDuration(value, scale);
    return deservesLook(value, settings.step) ? <strong className="look">{text}</strong> : text;
  };
}
