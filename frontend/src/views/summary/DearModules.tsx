import { useMemo, type ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { deservesLook } from "../../report/attention";
import {
  countOrNothing,
  duration,
  durationScale,
  percent,
  scaledDuration,
} from "../../text/formats";
import { stepsLength } from "../../report/measures";
import { pathText } from "../modules/moduleTree";
import { SUMMARY_TABLE_DEFINITIONS as D } from "./definitions";
import { classBeside, dearestModules, type DearModule, type DearModules as Dear } from "./modules";
import { ShareBar } from "../../components/ShareBar";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { Term } from "../../components/Tip";

const MOST = 5;

/** Which module to open: those whose own backward is dearest. */
export function DearModules({ report }: { report: WireReport }): ReactElement {
  const dear = useMemo(() => dearestModules(report, MOST), [report]);
  const length = stepsLength(report) / Math.max(1, report.steps.length);
  const waits = dear.rows.some((row) => row.wait > 0);
  const scale = durationScale(dear.rows[0]?.self ?? 0);
  return (
    <section className="facet dear-modules" aria-label="Dearest modules">
      <header>
        <h2>
          Which module to open{" "}
          {dear.rows.length > 0 && (
            <span className="muted">
              by own {dear.pass}, {dear.measure}
            </span>
          )}
        </h2>
        <PlaceLink to={{ view: "backward", module: null, zoom: null, search: "", sort: null }}>
          {dear.pass === "backward" ? "Backward" : "All modules"}
        </PlaceLink>
      </header>
      {dear.rows.length === 0 ? (
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
              {waits && (
                <th scope="col">
                  <Term text={D.wait.text}>{D.wait.title}</Term>
                </th>
              )}
            </tr>
          </thead>
          <tbody className={dear.pass}>
            {dear.rows.map((row) => (
              <Row
                key={row.module.path}
                row={row}
                own={scaledDuration(row.self, scale)}
                waits={waits}
                look={deservesLook(row.wait, length)}
              />
            ))}
          </tbody>
        </table>
      )}
      <Rest dear={dear} />
    </section>
  );
}

interface RowProps {
  row: DearModule;
  own: string;
  /** Whether any of the rows tells of a wait. */
  waits: boolean;
  look: boolean;
}

function Row({ row, own, waits, look }: RowProps): ReactElement {
  const { module, share, wait } = row;
  return (
    <tr>
      <th scope="row">
        <PlaceLink
          to={{ view: "backward", module: module.path, zoom: null, search: "", sort: null }}
        >
          <Name text={pathText(module.path)} className="code" />
        </PlaceLink>{" "}
        <Name text={classBeside(module)} className="muted" />
      </th>
      <td>{own}</td>
      <td>{percent(share)}</td>
      <td className="bar-cell">
        <ShareBar share={share} />
      </td>
      {waits && (
        <td className={look ? "look" : ""}>{wait === 0 ? countOrNothing(0) : duration(wait)}</td>
      )}
    </tr>
  );
}

function Rest({ dear }: { dear: Dear }): ReactElement | null {
  if (dear.rest === null || dear.rest <= 0) return null;
  return (
    <p className="muted">
      {duration(dear.rest)} a step of the {dear.pass} belongs to no known module.
    </p>
  );
}

function nothingText(report: WireReport): string {
  if (report.modules.length === 0) {
    return "The trace names no modules; the view Backward says how to record them.";
  }
  return "No module did any work of its own in these steps.";
}
