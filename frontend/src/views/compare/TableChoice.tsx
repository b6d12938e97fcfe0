import type { ReactElement } from "react";

import type { Comparison } from "../../api/schema";
import type { ChangeStatus } from "../../api/client";
import { usePlace } from "../../parts/services";
import { count } from "../../text/formats";
import { COMPARE_TABLES, STATUSES, type CompareTable, type Status } from "./address";
import { compareRows } from "./rows";

interface TableChoiceProps {
  comparison: Comparison;
  table: CompareTable;
}

const TITLES = {
  modules: "Modules",
  syncs: "Syncs",
  kernels: "Device events",
  findings: "Findings",
} as const;

/** What is listed, with how much of each differs. */
export function TableChoice({ comparison, table }: TableChoiceProps): ReactElement {
  const [place, go] = usePlace();
  return (
    <div className="group table-choice" role="group" aria-label="Tables">
      {COMPARE_TABLES.map((name) => {
        const differing = compareRows(comparison, name).filter(({ status }) => status !== "same");
        return (
          <button
            key={name}
            type="button"
            aria-pressed={name === table}
            onClick={() =>
              go({
                sort: null,
                search: "",
                compare: { ...place.compare, table: name, status: null, row: null },
              })
            }
          >
            {TITLES[name]} <span className="muted">{count(differing.length)}</span>
          </button>
        );
      })}
    </div>
  );
}

interface StatusChoiceProps {
  counts: ReadonlyMap<ChangeStatus, number>;
  value: Status | "all" | null;
  onChange: (status: Status | "all" | null) => void;
}

const DIFFERENT = "";

/** What became of a row: what appeared, what vanished, what moved. */
export function StatusChoice({ counts, value, onChange }: StatusChoiceProps): ReactElement {
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
  const differing = all - (counts.get("same") ?? 0);
  return (
    <label className="picker">
      <span className="picker-label">status</span>
      <select
        value={value ?? DIFFERENT}
        onChange={(event) => {
          const chosen = event.target.value;
          onChange(chosen === "all" ? "all" : (STATUSES.find((one) => one === chosen) ?? null));
        }}
      >
        <option value={DIFFERENT}>differs ({differing})</option>
        {STATUSES.filter((one) => counts.has(one) || one === value).map((one) => (
          <option key={one} value={one}>
            {one} ({counts.get(one) ?? 0})
          </option>
        ))}
        <option value="all">all ({all})</option>
      </select>
    </label>
  );
}
