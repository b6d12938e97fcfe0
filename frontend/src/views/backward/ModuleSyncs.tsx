import { useMemo, type ReactElement } from "react";

import type { WireModule, WireReport } from "../../api/types";
import { counted, duration } from "../../model/formats";
import { syncRows, type SyncRow } from "../../model/syncs";
import { Name } from "../Name";

const MOST = 5;

interface ModuleSyncsProps {
  report: WireReport;
  path: string;
  sync: WireModule["sync"];
  by: number;
  onSyncs: (sync: string | null) => void;
}

/** Where the host waited in this module itself, longest first. */
export function ModuleSyncs({ report, path, sync, by, onSyncs }: ModuleSyncsProps): ReactElement {
  const own = useMemo(() => ownSyncs(report, path), [report, path]);
  if (sync.count === 0) return <p className="muted">The host never waits for the device here.</p>;
  const idle =
    sync.device_idle_us === null ? "" : ` · device idle ${duration(sync.device_idle_us / by)}`;
  return (
    <section aria-label="Syncs">
      <h3>Host waits</h3>
      <p>
        {counted(sync.count / by, "sync")} · host blocked {duration(sync.blocked_us / by)}
        {idle}
      </p>
      {own.length > 0 && (
        <ul className="sync-list">
          {own.slice(0, MOST).map((row) => (
            <li key={row.id}>
              <button
                type="button"
                className="link"
                onClick={() => {
                  onSyncs(row.id);
                }}
              >
                <Name text={row.sync.api} className="code" />
              </button>
              <span>{duration(row.sync.duration_us)}</span>
              <span className="muted sync-where">
                <Name
                  text={`${row.sync.phase} · ${row.sync.operator ?? row.sync.node ?? row.sync.cause}`}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
      <button
        type="button"
        onClick={() => {
          onSyncs(null);
        }}
      >
        Show in Syncs
      </button>
    </section>
  );
}

function ownSyncs(report: WireReport, path: string): SyncRow[] {
  return syncRows(report)
    .filter((row) => row.sync.module === path)
    .sort((a, b) => b.sync.duration_us - a.sync.duration_us);
}
