import { useMemo, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { WireReport, WireTablePage } from "../../api/types";
import { Figure } from "../../components/Figure";
import { SearchBox, Segments } from "../../components/controls";
import { numberOf, PAGE_ROWS, rowsOf, useRows, type TableRow } from "../../parts/serverTable/rows";
import { ServerTable } from "../../parts/serverTable/ServerTable";
import { TopBars } from "../../parts/serverTable/TopBars";
import { usePlace, type Loaded } from "../../parts/services";
import { count, counted, duration, percent } from "../../text/formats";
import type { Sort } from "../../text/numbers";
import { KernelPanel } from "./KernelPanel";
import { RooflineFacet } from "./RooflineFacet";
import { KERNEL_GROUPS, type KernelGroup, type KernelsPlace } from "./address";
import { KERNEL_TABLES, kernelColumns, mostBy, quickColumns } from "./columns";
import {
  KERNEL_DEFINITIONS as D,
  ROOFLINE_DEFINITIONS as R,
  SEQUENCE_DEFINITIONS as S,
} from "./definitions";
import { useWithGains } from "./useWithGains";

const TITLES: Readonly<Record<KernelGroup, string>> = {
  name: "Name",
  launch: "Launch",
  sequence: "Fusable sequence",
};
const NOTHING_THERE: Readonly<Record<KernelGroup, string>> = {
  name: "The trace holds no work of a device.",
  launch: "The trace holds no work of a device.",
  sequence: "No sequence of kernels that could be fused comes twice.",
};
const TOP = 8;

interface KernelsViewProps {
  report: WireReport;
  target: Target;
}

/** What kernels cost, how near they are to what the device can do, and which launches they are. */
export function KernelsView({ report, target }: KernelsViewProps): ReactElement {
  const [{ kernels: place, search, sort: chosen }, go] = usePlace();
  const sort = chosen ?? { key: mostBy(place.group), descending: true };
  const change = (next: Partial<KernelsPlace>): void => {
    go({ kernels: { ...place, ...next } });
  };
  const { loaded, top } = useKernels(target, place, search, sort);
  const shown = useWithGains(target, place, loaded, sort);
  const columns = useMemo(() => kernelColumns(place.group), [place.group]);
  return (
    <div className="view">
      <div className="view-main server-table-view">
        <UtilizationFigures target={target} />
        <RooflineFacet
          target={target}
          points={place.points}
          onPoints={(points) => {
            change({ points, row: null });
          }}
          selected={place.row}
          onSelect={(row) => {
            if (place.points === "kernel") change({ group: "launch", row });
          }}
        />
        <KernelToolbar total={loaded.value?.total ?? null} />
        <TopBars
          title="Most expensive"
          rows={rowsOf(top.value)}
          column={mostBy(place.group)}
          definition={place.group === "sequence" ? S.removable : D.total}
          onSelect={(row) => {
            change({ row });
          }}
        />
        <ServerTable
          label="Kernels"
          columns={columns}
          loaded={shown}
          sort={sort}
          onSort={(next) => {
            go({ sort: next, kernels: { ...place, page: 0 } }, true);
          }}
          page={place.page}
          onPage={(page) => {
            change({ page });
          }}
          selected={place.row}
          onSelect={(row) => {
            change({ row });
          }}
          search={search}
          empty={search === "" ? NOTHING_THERE[place.group] : "No kernel fits the search."}
        />
      </div>
      {place.row !== null && (
        <KernelPanel
          report={report}
          target={target}
          group={place.group}
          id={place.row}
          onClose={() => {
            change({ row: null });
          }}
        />
      )}
    </div>
  );
}

/** A page of the table, and its most expensive rows. */
function useKernels(
  target: Target,
  { group, page }: KernelsPlace,
  search: string,
  { key, descending }: Sort,
): Record<"loaded" | "top", Loaded<WireTablePage>> {
  const table = KERNEL_TABLES[group];
  const filter = search === "" ? [] : [`name:contains:${search}`];
  const sort = [`${descending ? "-" : ""}${key}`];
  const offset = page * PAGE_ROWS;
  const columns = quickColumns(group, key);
  const most = [`-${mostBy(group)}`];
  return {
    loaded: useRows(target, { table, sort, filter, offset, limit: PAGE_ROWS, columns }),
    top: useRows(target, { table, sort: most, filter, offset: 0, limit: TOP, columns }),
  };
}

/** Search, and what makes one row. */
function KernelToolbar({ total }: { total: number | null }): ReactElement {
  const [{ kernels: place, search }, go] = usePlace();
  return (
    <div className="toolbar">
      <SearchBox
        label="Search kernels"
        text={search}
        onText={(text) => {
          go({ search: text, kernels: { ...place, page: 0 } }, true);
        }}
        found={search === "" ? null : `${count(total)} found`}
      />
      <Segments
        label="Group by"
        segments={KERNEL_GROUPS.map((value) => ({ value, title: TITLES[value] }))}
        chosen={place.group}
        onChoose={(group) => {
          go({ kernels: { ...place, group, page: 0, row: null }, sort: null });
        }}
      />
    </div>
  );
}

const STEPS = 1000;

/** MFU over the steps, and how much of the device's time it is about. */
function UtilizationFigures({ target }: { target: Target }): ReactElement {
  const question = { table: "step_utilization", sort: [], filter: [], offset: 0, limit: STEPS };
  const rows = rowsOf(useRows(target, question).value);
  const length = sum(rows, "duration_us");
  const atPeak = weighted(rows);
  const device = sum(rows, "device_us");
  const unknown = sum(rows, "unknown_us");
  const known = rows.some((row) => row.flops !== null);
  return (
    <dl className="figures">
      <Figure
        definition={R.mfu}
        number={atPeak === null || length === 0 ? "unknown" : percent(atPeak / length)}
        note={`${counted(rows.length, "step")}${unknown > 0 ? ", lower bound" : ""}`}
      />
      <Figure
        definition={R.known}
        number={known && device > 0 ? percent(sum(rows, "flops_us") / device) : "unknown"}
      />
      <Figure definition={R.unknown} number={duration(unknown)} />
    </dl>
  );
}

/** Sum of MFU times length; null where a step has none. */
function weighted(rows: readonly TableRow[]): number | null {
  return rows.reduce<number | null>(
    (total, row) => {
      const mfu = numberOf(row, "mfu");
      if (total === null || mfu === null) return null;
      return total + mfu * (numberOf(row, "duration_us") ?? 0);
    },
    rows.length === 0 ? null : 0,
  );
}

function sum(rows: readonly TableRow[], column: string): number {
  return rows.reduce((total, row) => total + (numberOf(row, column) ?? 0), 0);
}
