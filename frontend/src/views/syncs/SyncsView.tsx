import { useMemo, type ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { filterSyncs, sortSyncs, syncRows, tally, type SyncRow } from "../../model/syncs";
import type { Sort } from "../../model/treeRows";
import { SearchBox } from "../SearchBox";
import { usePlace } from "../state/context";
import { DataTable } from "../table/DataTable";
import { syncColumns } from "./columns";
import { FilterSelect } from "./FilterSelect";
import { SyncFigures } from "./SyncFigures";
import { SyncPanel } from "./SyncPanel";

const LONGEST_FIRST: Sort = { key: "blocked", descending: true };

/** Every call that made the host wait for the device. */
export function SyncsView({ report }: { report: WireReport }): ReactElement {
  const [place, go] = usePlace();
  const { search, phase, cause } = place;
  const { key, descending } = place.sort ?? LONGEST_FIRST;
  const all = useMemo(() => syncRows(report), [report]);
  const rows = useMemo(
    () => sortSyncs(filterSyncs(all, { search, phase, cause }), { key, descending }),
    [all, search, phase, cause, key, descending],
  );
  const columns = useMemo(() => syncColumns(report, all, search), [report, all, search]);
  const selected = all.find((row) => row.id === place.sync);
  const filtered = search !== "" || phase !== null || cause !== null;
  return (
    <div className="view">
      <div className="view-main">
        <SyncFigures report={report} rows={rows} filtered={filtered} />
        <div className="toolbar">
          <SearchBox
            label="Search call, operator, module, line"
            text={search}
            onText={(text) => {
              go({ search: text }, true);
            }}
            found={filtered ? `${rows.length} of ${all.length}` : null}
          />
          <FilterSelect
            label="phase"
            value={phase}
            options={tally(all, "phase")}
            onChange={(value) => {
              go({ phase: value });
            }}
          />
          <FilterSelect
            label="cause"
            value={cause}
            options={tally(all, "cause")}
            onChange={(value) => {
              go({ cause: value });
            }}
          />
        </div>
        <DataTable
          label="Host-blocking calls"
          columns={columns}
          rows={rows}
          rowId={rowId}
          sort={{ key, descending }}
          onSort={(sort) => {
            go({ sort }, true);
          }}
          selected={place.sync}
          onSelect={(id) => {
            go({ sync: id === place.sync ? null : id });
          }}
          empty={
            all.length === 0
              ? "The host never waits for the device in these steps."
              : "No call fits search and filters."
          }
        />
      </div>
      {selected !== undefined && <SyncPanel report={report} row={selected} />}
    </div>
  );
}

const rowId = (row: SyncRow): string => row.id;
