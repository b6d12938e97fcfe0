import { type ReactElement, useMemo } from "react";

import type { ChangeStatus, CompareSide } from "../../api/client";
import type { Comparison, ReportData } from "../../api/schema";
import { DataTable } from "../../components/table/DataTable";
import { PlaceSearch } from "../../parts/PlaceLink";
import { useAsk, usePlace, useServices } from "../../parts/services";
import { clip, count } from "../../text/formats";
import { Aligned } from "./Aligned";
import { Bars } from "./Bars";
import { DifferenceIcicle } from "./DifferenceIcicle";
import { RowPanel } from "./RowPanel";
import { Totals } from "./Totals";
import { COMPARE_TABLES, type CompareTable, type Status, STATUSES } from "./address";
import { compareHeadline, cutText } from "./changes";
import { compareColumns } from "./columns";
import { isPerStep } from "./definitions";
import {
  type CompareRow,
  compareRows,
  EFFECT_FIRST,
  filterRows,
  firstTable,
  sortRows,
  tallyStatus,
} from "./rows";
import { setupDifferences, targetOf } from "./sides";

interface DifferencesProps {
  comparison: Comparison;
  /** Rows that the server left out, by list. */
  cut: Readonly<Record<string, number>>;
  base: CompareSide;
  other: CompareSide;
  /** Report of all steps of the side after. */
  whole: ReportData;
  /** Which sides are compared. */
  children: ReactElement;
}

/** What changed: in a sentence, in sums, and row by row. */
export function Differences(props: DifferencesProps): ReactElement {
  const { comparison, cut, base, other, whole: after, children } = props;
  const [place, go] = usePlace();
  const { api } = useServices();
  const { status, row: selected } = place.compare;
  const table = useMemo(
    () => place.compare.table ?? firstTable(comparison),
    [place.compare.table, comparison],
  );
  const { search } = place;
  const { key, descending } = place.sort ?? EFFECT_FIRST;
  const all = useMemo(() => compareRows(comparison, table), [comparison, table]);
  const rows = useMemo(
    () => sortRows(filterRows(all, { search, status }), { key, descending }),
    [all, search, status, key, descending],
  );
  const chosen = all.find((row) => row.id === selected);
  const reported = useAsk(api.report, [targetOf(base)]);
  const before = reported.status === "ready" ? reported.value : null;
  return (
    <div className="view">
      <div className="view-main compare">
        {children}
        <h1 className="compare-headline">
          <bdi>{compareHeadline(comparison)}</bdi>
        </h1>
        <CutNote cut={cut} />
        <SetupNote before={before} after={after} />
        <Totals comparison={comparison} />
        <Bars comparison={comparison} />
        <Aligned
          key={JSON.stringify([base, other])}
          comparison={comparison}
          base={base}
          other={other}
          before={before}
          after={after}
          onSelect={(row) =>
            go({ search: "", compare: { ...place.compare, table: "modules", status: null, row } })
          }
        />
        <Tools comparison={comparison} table={table} all={all} found={rows.length} />
        <Changes comparison={comparison} table={table} all={all} rows={rows} after={after} />
      </div>
      {chosen !== undefined && (
        <RowPanel
          row={chosen}
          table={table}
          base={base}
          other={other}
          before={before}
          after={after}
          perStep={isPerStep(comparison)}
          onClose={() => go({ compare: { ...place.compare, row: null } })}
        />
      )}
    </div>
  );
}

interface ChangesProps extends Pick<DifferencesProps, "comparison"> {
  table: CompareTable;
  /** Every row of the table, and those that are shown. */
  all: readonly CompareRow[];
  rows: CompareRow[];
  after: ReportData;
}

/** The rows of a table; of modules a picture of their tree too. */
function Changes({ comparison, table, all, rows, after }: ChangesProps): ReactElement {
  const [{ compare, search, sort }, go] = usePlace();
  const { step_us: step } = comparison;
  const whole = Math.max(step.base ?? 0, step.other ?? 0);
  const columns = useMemo(
    () => compareColumns({ table, rows: all, step: whole, search }),
    [table, all, whole, search],
  );
  const choose = (id: string): void =>
    go({ compare: { ...compare, row: id === compare.row ? null : id } });
  return (
    <>
      {table === "modules" && (
        <DifferenceIcicle
          comparison={comparison}
          after={after}
          selected={compare.row}
          onSelect={choose}
        />
      )}
      <DataTable
        label={`Changes: ${table}`}
        columns={columns}
        rows={rows}
        rowId={rowId}
        sort={sort ?? EFFECT_FIRST}
        onSort={(next) => go({ sort: next }, true)}
        selected={compare.row}
        onSelect={choose}
        empty={emptyText(all.length, search !== "" || compare.status !== null)}
      />
    </>
  );
}

/** Says which lists are not whole. */
function CutNote({ cut }: Pick<DifferencesProps, "cut">): ReactElement | null {
  const text = cutText(cut);
  return text === null ? null : <p className="notice">{text}</p>;
}

interface SetupNoteProps {
  before: ReportData | null;
  after: ReportData;
}

/** Says where not only the training differs; as high before it is known. */
function SetupNote({ before, after }: SetupNoteProps): ReactElement {
  const found = before === null ? [] : setupDifferences(before, after);
  return (
    <p className={found.length > 0 ? "setup-note warn" : "setup-note muted"}>
      <bdi>
        {found.length > 0
          ? `Not like for like: ${clip(found.join("; "), 300)}.`
          : before === null
            ? "…"
            : "Same device, torch version and recording options, as far as the traces say."}
      </bdi>
    </p>
  );
}

interface ToolsProps {
  comparison: Comparison;
  table: CompareTable;
  /** Every row of the table, and how many of them are shown. */
  all: readonly CompareRow[];
  found: number;
}

function Tools({ comparison, table, all, found }: ToolsProps): ReactElement {
  const [place, go] = usePlace();
  const { compare, search } = place;
  return (
    <div className="toolbar">
      <TableChoice comparison={comparison} table={table} />
      <PlaceSearch
        label="Search name, place, kind"
        found={search === "" ? null : `${found} of ${all.length}`}
      />
      <StatusChoice
        counts={tallyStatus(all)}
        value={compare.status}
        onChange={(status) => go({ compare: { ...compare, status, row: null } })}
      />
    </div>
  );
}

const rowId = (row: CompareRow): string => row.id;

function emptyText(all: number, filtered: boolean): string {
  if (all === 0) return "Neither side holds any.";
  return filtered ? "Nothing matches the search and filter." : "Nothing differs.";
}

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
function TableChoice({ comparison, table }: TableChoiceProps): ReactElement {
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
function StatusChoice({ counts, value, onChange }: StatusChoiceProps): ReactElement {
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
