import { useMemo, type ReactElement } from "react";

import type { WireModule, WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { ShareBar } from "../../components/charts";
import { LoadsKernels } from "../../parts/LoadsKernels";
import { PlaceLink } from "../../parts/PlaceLink";
import { measureOf, meanStep, type Measure } from "../../report/measures";
import { avoidable, isHighlighted, lostIn } from "../../report/syncs";
import {
  countOrNothing,
  duration,
  durationScale,
  NOTHING,
  percent,
  scaledDuration,
} from "../../text/formats";
import { pathText } from "../../text/names";
import { over, ratio, sumOf } from "../../text/numbers";
import { SUMMARY_TABLE_DEFINITIONS as D } from "./definitions";

const MOST = 7;

/** What an annotation has for a class: each stands for itself. */
const ANNOTATION = "annotation";

/** Which modules to look at: the classes whose self time is longest. */
export function TopModules({ report }: { report: WireReport }): ReactElement {
  const top = useMemo(() => topModules(report, MOST), [report]);
  const length = meanStep(report);
  const syncs = top.rows.some((row) => row.blocked > 0);
  const scale = durationScale(top.rows[0]?.self ?? 0);
  return (
    <section className="facet top-modules" aria-label="Top modules">
      <header>
        <h2>
          Top modules by self time{" "}
          {top.rows.length > 0 && (
            <span className="muted">
              {top.pass}, {top.measure} time per step
            </span>
          )}
        </h2>
        <PlaceLink to={{ view: "modules", module: null, zoom: null, group: "class", ...FRESH }}>
          All modules
        </PlaceLink>
      </header>
      {top.rows.length === 0 ? (
        <p className="muted">{nothingText(report)}</p>
      ) : (
        <table className="small-table">
          <thead>
            <tr>
              <th scope="col">class</th>
              <th scope="col">each</th>
              <th scope="col">
                <Term text={D.self.text}>{D.self.title}</Term>
              </th>
              <th scope="col" colSpan={2}>
                <Term text={D.selfShare.text}>{D.selfShare.title}</Term>
              </th>
              {syncs && (
                <th scope="col">
                  <Term text={D.blocked.text}>{D.blocked.title}</Term>
                </th>
              )}
            </tr>
          </thead>
          <tbody className={top.pass}>
            {top.rows.map((row) => (
              <Row
                key={row.name}
                row={row}
                total={scaledDuration(row.self, scale)}
                syncs={syncs}
                look={isHighlighted(lostIn(row.blocked, row.idle), length)}
              />
            ))}
          </tbody>
        </table>
      )}
      {top.communication > 0 && (
        <p className="muted">
          {duration(top.communication)} per step of communication ran in modules and is not counted.
        </p>
      )}
      <Rest top={top} />
    </section>
  );
}

const FRESH = { search: "", sort: null } as const;

interface RowProps {
  row: TopClass;
  total: string;
  /** Whether any of the rows has a sync. */
  syncs: boolean;
  look: boolean;
}

function Row({ row, total, syncs, look }: RowProps): ReactElement {
  const { name, modules, share, self, blocked, loading } = row;
  const [only] = modules;
  const one = modules.length === 1 && only !== undefined;
  const to = one
    ? ({ view: "modules", module: only.path, group: "instance", zoom: null, ...FRESH } as const)
    : ({ view: "modules", module: null, group: "class", zoom: null, ...FRESH } as const);
  return (
    <tr>
      <th scope="row">
        <PlaceLink to={to}>
          <Name text={name} className="code" />
        </PlaceLink>{" "}
        <span className="muted">
          {one ? (
            <Name text={only.path === name ? "" : pathText(only.path)} className="code" />
          ) : (
            `× ${modules.length}`
          )}
        </span>{" "}
        <LoadsKernels us={loading} />
      </th>
      <td>{one ? NOTHING : duration(self / modules.length)}</td>
      <td>{total}</td>
      <td>{percent(share)}</td>
      <td className="bar-cell">
        <ShareBar share={share} />
      </td>
      {syncs && (
        <td className={look ? "look" : ""}>
          {blocked === 0 ? countOrNothing(0) : duration(blocked)}
        </td>
      )}
    </tr>
  );
}

function Rest({ top }: { top: TopModuleRows }): ReactElement | null {
  if (top.rest === null || top.rest <= 0) return null;
  return (
    <p className="muted">
      {duration(top.rest)} per step of the {top.pass} is in no known module.
    </p>
  );
}

function nothingText(report: WireReport): string {
  if (report.modules.length === 0) {
    return `The trace names no modules; the view Modules says how to record them.`;
  }
  return "No module has self time in these steps.";
}

/** All modules of one class that have self time, microseconds per step. */
interface TopClass {
  readonly name: string;
  readonly modules: readonly WireModule[];
  readonly self: number;
  /** Of the whole pass, 0 to 1. */
  readonly share: number | null;
  readonly blocked: number;
  /** Device idle time of its syncs; null where unknown. */
  readonly idle: number | null;
  readonly loading: number | null;
}

interface TopModuleRows {
  readonly pass: "backward" | "forward";
  readonly measure: Measure;
  readonly rows: readonly TopClass[];
  /** Communication in modules that is left out, microseconds a step. */
  readonly communication: number;
  /** What belongs to no module, microseconds a step; null where unknown. */
  readonly rest: number | null;
}

/** The classes with the longest self time in the backward; without a backward, in the forward. */
export function topModules(report: WireReport, most: number): TopModuleRows {
  const pass = report.steps.some((step) => (step.backward_us ?? 0) > 0) ? "backward" : "forward";
  const measure = pass === "backward" ? measureOf(report) : forwardMeasure(report);
  const by = Math.max(1, report.steps.length);
  const communicating = measure === "device" ? ownCommunication(report.modules, pass) : null;
  // A bucket's all-reduce runs in the hook of whichever module came last: it is not its work.
  const selfOf = (module: WireModule): number =>
    measure === "device"
      ? Math.max(0, (module[pass].self_device_us ?? 0) - (communicating?.get(module.id) ?? 0))
      : (module[pass].self_host_us ?? 0);
  const { coverage } = report;
  const rest =
    pass === "forward"
      ? null
      : measure === "device"
        ? coverage.unattributed_us
        : coverage.unattributed_host_us;
  const whole = report.modules.reduce((sum, module) => sum + selfOf(module), 0) + (rest ?? 0);
  const classes = new Map<string, WireModule[]>();
  for (const module of report.modules.filter((module) => selfOf(module) > 0)) {
    const name = module.class === ANNOTATION ? module.path : module.class;
    classes.set(name, [...(classes.get(name) ?? []), module]);
  }
  const rows = [...classes]
    .map(([name, modules]) => classOf(report, name, modules, { selfOf, whole, by }))
    .sort((a, b) => b.self - a.self)
    .slice(0, most);
  const communication = [...(communicating?.values() ?? [])].reduce((sum, us) => sum + us, 0) / by;
  return { pass, measure, rows, communication, rest: rest === null ? null : rest / by };
}

interface Sums {
  selfOf: (module: WireModule) => number;
  /** Of the whole pass, microseconds of all steps. */
  whole: number;
  by: number;
}

function classOf(
  report: WireReport,
  name: string,
  modules: readonly WireModule[],
  { selfOf, whole, by }: Sums,
): TopClass {
  const ids = new Set<number | null>(modules.map(({ id }) => id));
  const syncs = avoidable(report.syncs).filter((sync) => ids.has(sync.module_id));
  const self = modules.reduce((sum, module) => sum + selfOf(module), 0);
  return {
    name,
    modules,
    self: self / by,
    share: ratio(self, whole),
    blocked: syncs.reduce((sum, sync) => sum + sync.duration_us, 0) / by,
    idle: over(sumOf(syncs.map((sync) => sync.device_idle_us)), by),
    loading: over(sumOf(modules.map((module) => module.kernel_loading_us)), by),
  };
}

/** Device time of collectives in each module and none below it, by its id. */
function ownCommunication(
  modules: readonly WireModule[],
  pass: "backward" | "forward",
): ReadonlyMap<number, number> {
  const own = new Map(modules.map((module) => [module.id, communicationIn(module[pass])]));
  for (const module of modules) {
    const parent = module.parent_id;
    if (parent === null) continue;
    own.set(parent, (own.get(parent) ?? 0) - communicationIn(module[pass]));
  }
  return own;
}

const communicationIn = (work: WireModule["backward"]): number => work.by_kind?.communication ?? 0;

function forwardMeasure(report: WireReport): Measure {
  return report.modules.some((module) => (module.forward.device_us ?? 0) > 0) ? "device" : "host";
}
