import { useMemo, type ReactElement } from "react";

import { syncInTimeline } from "../../../address/links";
import type { Target } from "../../../api/request";
import type { Module, ReportData } from "../../../api/schema";
import { Name } from "../../../components/Name";
import { Chain } from "../../../parts/Chain";
import { PlaceLink } from "../../../parts/PlaceLink";
import { SyncTimeline } from "../../../parts/SyncTimeline";
import { syncRows, type SyncRow } from "../../../report/syncs";
import { counted, duration } from "../../../text/formats";

const MOST = 5;

interface ModuleSyncsProps {
  report: ReportData;
  target: Target;
  module: Module;
  by: number;
}

/** Where the host waited in this module: the longest with its chain, then the others. */
export function ModuleSyncs(props: ModuleSyncsProps): ReactElement {
  const { report, target, module, by } = props;
  const { path, sync } = module;
  const own = useMemo(() => ownSyncs(report, module), [report, module]);
  const [longest, ...others] = own;
  if (sync.count === null || sync.blocked_us === null) {
    return <p className="muted">Syncs unknown: no call of the device's runtime was recorded.</p>;
  }
  if (sync.count === 0) return <p className="muted">No syncs in this module.</p>;
  const idle =
    sync.device_idle_us === null ? "" : ` · device idle ${duration(sync.device_idle_us / by)}`;
  return (
    <section aria-label="Syncs">
      <h3>Syncs</h3>
      <p>
        {counted(sync.count / by, "sync")} · host blocked {duration(sync.blocked_us / by)}
        {idle}
        {own.length === 0 && ", in its children"}
      </p>
      <p className="links">
        <PlaceLink to={{ ...IN_SYNCS, search: path, sync: null }}>Show in Syncs</PlaceLink>
        {longest !== undefined && (
          <PlaceLink to={syncInTimeline(report, longest.sync)}>
            Show the longest in timeline
          </PlaceLink>
        )}
      </p>
      {longest !== undefined && (
        <>
          <Chain report={report} row={longest} />
          <SyncTimeline report={report} target={target} row={longest} />
        </>
      )}
      {others.length > 0 && <h3>{counted(others.length, "more sync")} of this module itself</h3>}
      <ul className="sync-list">
        {others.slice(0, MOST).map((row) => (
          <li key={row.id}>
            <PlaceLink to={{ ...IN_SYNCS, search: "", sync: row.id }}>
              <Name text={row.sync.api} className="code" />
            </PlaceLink>
            <span>{duration(row.sync.duration_us)}</span>
            <span className="muted sync-where">
              <Name
                text={`${row.sync.phase} · ${row.sync.operator ?? row.sync.node ?? row.sync.cause}`}
              />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const IN_SYNCS = { view: "syncs", sort: null, phase: null, cause: null } as const;

function ownSyncs(report: ReportData, module: Module): SyncRow[] {
  return syncRows(report)
    .filter((row) => row.sync.module_id === module.id)
    .sort((a, b) => b.sync.duration_us - a.sync.duration_us);
}
