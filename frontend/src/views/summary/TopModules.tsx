import { type ReactElement, useMemo } from "react";

import type { ReportData } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { LoadsKernels, Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import { PlaceLink } from "../../parts/PlaceLink";
import { perText } from "../../report/findings";
import { inGraphs, meanStep } from "../../report/measures";
import { isHighlighted, lostIn } from "../../report/syncs";
import {
  countOrNothing,
  duration,
  durationScale,
  NOTHING,
  percent,
  scaledDuration,
} from "../../text/formats";
import { pathText } from "../../text/names";
import { onHost, TopWork } from "./TopWork";
import { SUMMARY_TABLE_DEFINITIONS as D } from "./definitions";
import { type TopClass, type TopModuleRows, topModules } from "./tables";

const MOST = 7;

/** Which modules to look at: the classes whose self time is longest. */
export function TopModules({ report }: { report: ReportData }): ReactElement {
  const top = useMemo(() => topModules(report, MOST), [report]);
  const length = meanStep(report);
  const syncs = top.rows.some((row) => row.blocked > 0);
  const scale = durationScale(top.rows[0]?.self ?? 0);
  return (
    <section className="facet top-modules" aria-label="Top modules">
      <header>
        <h2>
          {report.modules.length === 0 ? "What takes the time" : "Top modules by self time"}{" "}
          {top.rows.length > 0 && (
            <span className="muted">
              {top.pass}, {top.measure} time {perText(report)}
            </span>
          )}
        </h2>
        <PlaceLink to={{ view: "modules", module: null, zoom: null, group: "class", ...FRESH }}>
          All modules
        </PlaceLink>
      </header>
      {top.rows.length === 0 ? (
        <>
          <p className="muted">{nothingText(report)}</p>
          <TopWork report={report} />
        </>
      ) : (
        <table className="small-table">
          <Heads
            of={[
              "class",
              D.each,
              D.self,
              { ...D.selfShare, span: 2 },
              ...(syncs ? [D.blocked] : []),
            ]}
          />
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
      {(mostlyOutside(top) || (onHost(report) && top.rows.length > 0)) && (
        <TopWork report={report} />
      )}
      {top.communication > 0 && (
        <p className="muted">
          {duration(top.communication)} of communication {perText(report)} ran in modules and is not
          counted.
        </p>
      )}
      <Rest top={top} report={report} />
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
            <Name text={isNumbered(only.path, name) ? "" : pathText(only.path)} className="code" />
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

/** Whether most of the time is in no module: then its kernels say more. */
function mostlyOutside({ rows, rest }: TopModuleRows): boolean {
  return rows.length > 0 && (rest ?? 0) > rows.reduce((sum, { self }) => sum + self, 0);
}

/** Whether a path says no more than its class, as those of Python stacks: `Linear_3`. */
function isNumbered(path: string, name: string): boolean {
  return path.startsWith(name) && /^(_\d+)?$/.test(path.slice(name.length));
}

/** A rest of less than this share of the time in modules is no news. */
const LEAST_REST = 0.01;

interface RestProps {
  top: TopModuleRows;
  report: ReportData;
}

function Rest({ top, report }: RestProps): ReactElement | null {
  const inModules = top.rows.reduce((sum, { self }) => sum + self, 0);
  if (top.rows.length === 0 || top.rest === null || top.rest < LEAST_REST * inModules) return null;
  return (
    <p className="muted">
      {duration(top.rest)} {perText(report)} of the {top.pass} is in no known module.
    </p>
  );
}

function nothingText(report: ReportData): string {
  if (report.modules.length === 0) {
    return `The trace names no modules; the view Modules says how to record them.`;
  }
  return inGraphs(report)
    ? "Times of modules are unknown: their work is in replayed graphs."
    : "No module has self time here.";
}
