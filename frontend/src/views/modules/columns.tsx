import type { ReactElement } from "react";

import type { Column, CopiedColumn } from "../../components/table/props";
import { isHighlighted, lostIn } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import {
  count,
  counted,
  durationScale,
  percent,
  scaledDuration,
  times,
  type DurationScale,
} from "../../text/formats";
import { pathText } from "../../text/names";
import { ModuleCell, type ModuleRow } from "./ModuleCell";
import { Spark, type Bars } from "./Spark";
import type { Grouping } from "./address";
import { MODULE_DEFINITIONS as D, timeDefinitions } from "./definitions";
import type { ModuleNumbers, NumberKey } from "./moduleNumbers";
import type { ChosenQuantity } from "./quantity";

/** In what order columns give way: pictures first, what says where the time goes never. */
const YIELDS = {
  overTime: 1,
  share: 2,
  host: 3,
  kernels: 4,
  calls: 5,
  ratio: 6,
  idle: 7,
  communication: 8,
  blocked: 9,
} as const;

/** What the cells need beyond their row. */
export interface CellSettings {
  chosen: ChosenQuantity;
  grouping: Grouping;
  /** Whether the forward has a column of its own. */
  withForward: boolean;
  bars: Bars;
  numbers: readonly ModuleNumbers[];
  /** Time of everything: the full width of a bar. */
  whole: number;
  /** Unit and precision of the columns of the quantity's time, the last row's included. */
  scale: DurationScale;
  /** Whether the host waited anywhere, in a module or not. */
  syncs: boolean;
  /** Mean or total length of the selected steps: what a sync is held against. */
  step: number;
  search: string;
  onFold: (index: number, open: boolean) => void;
}

type Render = (numbers: ModuleNumbers) => ReactElement | string;

/** The columns, as far as the quantity has such numbers. */
export function moduleColumns(settings: CellSettings): Column<ModuleRow>[] {
  const { chosen, numbers } = settings;
  const device = chosen.clock === "device";
  const time = timeDefinitions(chosen);
  const bar = (key: "total" | "self"): Render => barCell(key, settings.scale, settings.whole);
  const columns = [
    moduleColumn(settings),
    column("calls", D.calls, 44, (n) => count(n.calls), YIELDS.calls),
    column("total", time.total, 102, bar("total")),
  ];
  if (settings.withForward && chosen.quantity !== "forward") {
    columns.push(
      column("forward", D.forward, 86, barCell("forward", settings.scale, settings.whole)),
    );
  }
  columns.push(
    column("self", time.self, 86, bar("self")),
    column("share", D.share, 60, (n) => <Heat share={n.share} />, YIELDS.share),
  );
  const worked = chosen.quantity !== "communication";
  if (device && worked) {
    columns.push(column("host", D.host, 66, plainDuration(settings, "host"), YIELDS.host));
  }
  if (numbers.some((n) => (n.ratio ?? 0) > 0)) {
    columns.push(column("ratio", D.ratio, 72, (n) => times(n.ratio), YIELDS.ratio));
  }
  if (numbers.some((n) => n.kernels !== null)) {
    columns.push(column("kernels", D.kernels, 60, (n) => count(n.kernels), YIELDS.kernels));
  }
  if (settings.syncs)
    columns.push(
      column("blocked", D.blocked, 98, blockedCell(settings, "blocked"), YIELDS.blocked),
    );
  if (numbers.some((n) => (n.syncs ?? 0) > 0 && n.idle !== null)) {
    columns.push(column("idle", D.idle, 88, blockedCell(settings, "idle"), YIELDS.idle));
  }
  if (numbers.some((n) => (n.communication ?? 0) > 0)) {
    const render = plainDuration(settings, "communication");
    const cell: Render = (n) => (n.communication === 0 ? "—" : render(n));
    columns.push(column("communication", D.communication, 78, cell, YIELDS.communication));
  }
  if (chosen.quantity === "forward" || chosen.quantity === "backward") {
    columns.push(overTimeColumn(settings));
  }
  return columns;
}

/** The class is in the cell of the module, and a column of its own where rows are copied. */
export const COPIED_CLASS: CopiedColumn<ModuleRow> = {
  definition: D.copiedClass,
  value: ({ node }) => node.className,
};

function moduleColumn(settings: CellSettings): Column<ModuleRow> {
  const { grouping } = settings;
  return {
    id: "module",
    accessorFn: ({ node }) => (node.module === null ? node.path : pathText(node.path)),
    meta: {
      definition: grouping === "instance" ? D.module : D[grouping],
      width: 0,
      align: "start",
    },
    cell: ({ row }) => (
      <ModuleCell
        row={row.original}
        search={settings.search}
        classless={grouping === "class" && row.original.node.module !== null}
        onFold={settings.onFold}
      />
    ),
  };
}

/** Sorts as the tree is written: a picture has no order of its own, and is no value to copy. */
function overTimeColumn({ bars }: CellSettings): Column<ModuleRow> {
  return {
    id: "order",
    accessorFn: () => null,
    meta: {
      definition: D.overTime,
      width: 82,
      align: "start",
      grows: true,
      yields: YIELDS.overTime,
    },
    cell: ({ row }) => <Spark bars={bars} node={row.original.node} />,
  };
}

function column(
  key: NumberKey,
  definition: Definition,
  width: number,
  render: Render,
  yields?: number,
): Column<ModuleRow> {
  return {
    id: key,
    accessorFn: (row) => row.numbers[key],
    meta: { definition, width, align: "end", ...(yields === undefined ? {} : { yields }) },
    cell: ({ row }) => render(row.original.numbers),
  };
}

function scaleOf(settings: CellSettings, key: NumberKey): DurationScale {
  return durationScale(settings.numbers.reduce((most, n) => Math.max(most, n[key] ?? 0), 0));
}

/** The scale for totals and self times of modules and for what belongs to none. */
export function totalScale(numbers: readonly ModuleNumbers[], rest: number | null): DurationScale {
  return durationScale(numbers.reduce((most, n) => Math.max(most, n.total ?? 0), rest ?? 0));
}

function plainDuration(settings: CellSettings, key: NumberKey): Render {
  const scale = scaleOf(settings, key);
  return (n) => scaledDuration(n[key], scale);
}

function barCell(key: "total" | "self" | "forward", scale: DurationScale, whole: number): Render {
  return (n) => (
    <Bar
      text={scaledDuration(n[key], scale)}
      part={whole > 0 ? (n[key] ?? 0) / whole : 0}
      forward={key === "forward"}
    />
  );
}

interface BarProps {
  text: string;
  part: number;
  forward?: boolean;
}

/** A number with a small bar below it that shows its share. */
export function Bar({ text, part, forward = false }: BarProps): ReactElement {
  if (part <= 0) return <>{text}</>;
  const within = Math.min(1, part);
  return (
    <>
      {text}
      <span
        className={`bar ${forward ? "forward" : ""}`}
        style={{ width: `calc(${within * 100}% - 12px * ${within})` }}
      />
    </>
  );
}

/** A share on a ground of that share of the colour. */
function Heat({ share }: { share: number | null }): ReactElement {
  return (
    <>
      <span className="heat" style={{ opacity: Math.min(1, share ?? 0) }} />
      <span className="above">{percent(share)}</span>
    </>
  );
}

function blockedCell(settings: CellSettings, key: "blocked" | "idle"): Render {
  const scale = scaleOf(settings, key);
  return (n) => {
    const value = n[key];
    // None is a dash, and an idle time without a sync is not one of these.
    if (n.syncs === 0) return "—";
    const text = scaledDuration(value, scale);
    const look = isHighlighted(lostIn(value, n.idle), settings.step);
    return (
      <span className={look ? "blocked look" : "blocked"} title={counted(n.syncs ?? 0, "sync")}>
        {text}
      </span>
    );
  };
}
