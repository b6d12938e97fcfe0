import { useMemo, type ReactElement } from "react";

import type { WireModule, WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { ShareBar } from "../../components/charts";
import { LoadsKernels } from "../../parts/LoadsKernels";
import { PlaceLink } from "../../parts/PlaceLink";
import { measureOf, meanStep, type Measure } from "../../report/measures";
import { isHighlighted, lostIn } from "../../report/syncs";
import {
  countOrNothing,
  duration,
  durationScale,
  percent,
  scaledDuration,
} from "../../text/formats";
import { classUnlessSame, pathText } from "../../text/names";
import { over, ratio } from "../../text/numbers";
import { SUMMARY_TABLE_DEFINITIONS as D } from "./definitions";

const MOST = 5;

/** Which module to open: those whose own backward is most expensive. */
export function TopModules({ report }: { report: WireReport }): ReactElement {
  const top = useMemo(() => topModules(report, MOST), [report]);
  const length = meanStep(report);
  const syncs = top.rows.some((row) => row.blocked > 0);
  const scale = durationScale(top.rows[0]?.self ?? 0);
  return (
    <section className="facet top-modules" aria-label="Top modules">
      <header>
        <h2>
          Which module to open{" "}
          {top.rows.length > 0 && (
            <span className="muted">
              by own {top.pass}, {top.measure}
              {top.communication > 0 && ", without communication"}
            </span>
          )}
        </h2>
        <PlaceLink to={{ view: "modules", module: null, zoom: null, search: "", sort: null }}>
          All modules
        </PlaceLink>
      </header>
      {top.rows.length === 0 ? (
        <p className="muted">{nothingText(report)}</p>
      ) : (
        <table className="small-table">
          <thead>
            <tr>
              <th scope="col">module</th>
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
                key={row.module.id}
                row={row}
                own={scaledDuration(row.self, scale)}
                syncs={syncs}
                look={isHighlighted(lostIn(row.blocked, row.idle), length)}
              />
            ))}
          </tbody>
        </table>
      )}
      {top.communication > 0 && (
        <p className="muted">
          {duration(top.communication)} a step of communication ran in modules and is not counted.
        </p>
      )}
      <Rest top={top} />
    </section>
  );
}

interface RowProps {
  row: TopModuleRow;
  own: string;
  /** Whether any of the rows has a sync. */
  syncs: boolean;
  look: boolean;
}

function Row({ row, own, syncs, look }: RowProps): ReactElement {
  const { module, share, blocked, loading } = row;
  return (
    <tr>
      <th scope="row">
        <PlaceLink
          to={{ view: "modules", module: module.path, zoom: null, search: "", sort: null }}
        >
          <Name text={pathText(module.path)} className="code" />
        </PlaceLink>{" "}
        <Name text={classUnlessSame(module)} className="muted" /> <LoadsKernels us={loading} />
      </th>
      <td>{own}</td>
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
      {duration(top.rest)} a step of the {top.pass} belongs to no known module.
    </p>
  );
}

function nothingText(report: WireReport): string {
  if (report.modules.length === 0) {
    return `The trace names no modules; the view Modules says how to record them.`;
  }
  return "No module did any work of its own in these steps.";
}

/** One of the most expensive modules, microseconds a step. */
interface TopModuleRow {
  readonly module: WireModule;
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
  readonly rows: readonly TopModuleRow[];
  /** Communication in modules that is left out, microseconds a step. */
  readonly communication: number;
  /** What belongs to no module, microseconds a step; null where unknown. */
  readonly rest: number | null;
}

/** The modules whose own backward is most expensive; of a trace without backward, whose own forward is. */
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
  const rows = report.modules
    .filter((module) => selfOf(module) > 0)
    .sort((a, b) => selfOf(b) - selfOf(a))
    .slice(0, most)
    .map((module) => ({
      module,
      self: selfOf(module) / by,
      share: ratio(selfOf(module), whole),
      blocked: module.sync.blocked_us / by,
      idle: over(module.sync.device_idle_us, by),
      loading: over(module.kernel_loading_us, by),
    }));
  const communication = [...(communicating?.values() ?? [])].reduce((sum, us) => sum + us, 0) / by;
  return { pass, measure, rows, communication, rest: rest === null ? null : rest / by };
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
