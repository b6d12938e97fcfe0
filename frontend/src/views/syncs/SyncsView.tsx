import { type ReactElement, useMemo } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { DataTable } from "../../components/table/DataTable";
import { PlaceFilter, PlaceSearch } from "../../parts/PlaceLink";
import { usePlace, useRules } from "../../parts/services";
import { stepTally, tally } from "../../report/syncs";
import { stepLabel } from "../../text/names";
import type { Sort } from "../../text/numbers";
import { OtherStalls, SyncFigures, whyNoSyncs } from "./SyncFigures";
import { SyncPanel } from "./SyncPanel";
import { SyncStrip } from "./SyncStrip";
import { syncColumns, type SyncTableRow } from "./columns";
import { type SyncTree, useSyncTree } from "./syncTree";

const LONGEST_FIRST: Sort = { key: "blocked", descending: true };

interface SyncsViewProps {
  report: ReportData;
  target: Target;
}

/** Every call that made the host wait for the device, by cause and call site. */
export function SyncsView({ report, target }: SyncsViewProps): ReactElement {
  const [place, go] = usePlace();
  const rules = useRules();
  const sort = place.sort ?? LONGEST_FIRST;
  const syncs = useSyncTree(report, place, sort);
  const { tree, fold, selected } = syncs;
  const columns = useMemo(
    () => syncColumns({ report, tree, rules, search: place.search, onFold: fold }),
    [report, tree, rules, place.search, fold],
  );
  const marked = useMemo(
    () => (selected === null ? null : new Set(selected.rows.map(({ id }) => id))),
    [selected],
  );
  const reveal = (id: string): void => {
    syncs.reveal(id);
    go({ sync: id });
  };
  return (
    <div className="view">
      <div className="view-main syncs">
        <SyncFigures
          report={report}
          rows={syncs.fitting}
          filtered={syncs.fitting.length < syncs.all.length}
        />
        <SyncToolbar syncs={syncs} steps={report.per_step.marked} />
        <SyncStrip
          report={report}
          all={syncs.all}
          rows={syncs.fitting}
          selected={marked}
          onSelect={reveal}
        />
        <DataTable
          label="Syncs"
          columns={columns}
          rows={syncs.rows}
          rowId={rowId}
          sort={sort}
          onSort={(next) => go({ sort: next }, true)}
          selected={selected?.id ?? null}
          onSelect={(id) => go({ sync: id === selected?.id ? null : id })}
          branch={branchOf}
          onFold={fold}
          empty={
            syncs.all.length === 0 ? whyNoSyncs(report) : "No sync matches the search and filters."
          }
        />
        <OtherStalls report={report} />
      </div>
      {selected !== null && (
        <SyncPanel
          report={report}
          target={target}
          node={selected}
          rules={rules}
          onReveal={reveal}
        />
      )}
    </div>
  );
}

interface SyncToolbarProps {
  syncs: SyncTree;
  /** Whether the trace marks steps. */
  steps: boolean;
}

function SyncToolbar({ syncs, steps }: SyncToolbarProps): ReactElement {
  const [{ search, phase, cause }] = usePlace();
  const { all, fitting, foldAll } = syncs;
  const filtered = search !== "" || phase !== null || cause !== null;
  return (
    <div className="toolbar">
      <PlaceSearch
        label="Search syncs"
        found={filtered ? `${fitting.length} of ${all.length}` : null}
      />
      <PlaceFilter of="phase" options={tally(all, "phase")} />
      <PlaceFilter of="cause" options={tally(all, "cause")} />
      {steps && <PlaceFilter of="step" options={stepTally(all)} text={stepLabel} />}
      <div className="group" role="group" aria-label="Fold">
        <button type="button" onClick={() => foldAll(true)}>
          Expand all
        </button>
        <button type="button" onClick={() => foldAll(false)}>
          Group by call site
        </button>
      </div>
    </div>
  );
}

const rowId = ({ node }: SyncTableRow): string => node.id;

const branchOf = ({ node, open }: SyncTableRow): { level: number; open: boolean | null } => ({
  level: node.level,
  open,
});
