import { useMemo, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { WireReport } from "../../api/types";
import { SearchBox, Segments } from "../../components/controls";
import { PAGE_ROWS, rowsOf, useRows } from "../../parts/serverTable/rows";
import { ServerTable } from "../../parts/serverTable/ServerTable";
import { TopBars } from "../../parts/serverTable/TopBars";
import { usePlace } from "../../parts/services";
import { count } from "../../text/formats";
import type { Sort } from "../../text/numbers";
import { OperatorPanel } from "./OperatorPanel";
import { OPERATOR_GROUPS, type OperatorGroup, type OperatorsPlace } from "./address";
import { OPERATOR_TABLES, operatorColumns } from "./columns";
import { OPERATOR_DEFINITIONS as D } from "./definitions";

const TITLES: Readonly<Record<OperatorGroup, string>> = {
  name: "Name",
  shape: "Input shapes",
  stack: "Call stack",
  module: "Module",
};
const TOP = 8;

interface OperatorsViewProps {
  report: WireReport;
  target: Target;
}

/** What operators cost, on the host and on the device, grouped four ways. */
export function OperatorsView({ report, target }: OperatorsViewProps): ReactElement {
  const [{ operators: place, search, sort: chosen }, go] = usePlace();
  const device = report.devices.length > 0;
  const own = device ? "self_device_us" : "self_host_us";
  const sort: Sort = chosen ?? { key: own, descending: true };
  const change = (next: Partial<OperatorsPlace>): void => {
    go({ operators: { ...place, ...next } });
  };
  const table = OPERATOR_TABLES[place.group].table;
  const filter = search === "" ? [] : [`name:contains:${search}`];
  const order = [`${sort.descending ? "-" : ""}${sort.key}`];
  const offset = place.page * PAGE_ROWS;
  const loaded = useRows(target, { table, sort: order, filter, offset, limit: PAGE_ROWS });
  const top = useRows(target, { table, sort: [`-${own}`], filter, offset: 0, limit: TOP });
  const columns = useMemo(() => operatorColumns(place.group, device), [place.group, device]);
  return (
    <div className="view">
      <div className="view-main server-table-view">
        <OperatorToolbar total={loaded.value?.total ?? null} />
        <TopBars
          title={`Most expensive by ${device ? "own device time" : "own host time"}`}
          rows={rowsOf(top.value)}
          column={own}
          definition={device ? D.selfDevice : D.selfHost}
          onSelect={(row) => {
            change({ row });
          }}
        />
        <ServerTable
          label="Operators"
          columns={columns}
          loaded={loaded}
          sort={sort}
          onSort={(next) => {
            go({ sort: next, operators: { ...place, page: 0 } }, true);
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
          empty={search === "" ? "The trace holds no operators." : "No operator fits the search."}
        />
      </div>
      {place.row !== null && (
        <OperatorPanel
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

/** Search, and what makes one row. */
function OperatorToolbar({ total }: { total: number | null }): ReactElement {
  const [{ operators: place, search }, go] = usePlace();
  return (
    <div className="toolbar">
      <SearchBox
        label="Search operators"
        text={search}
        onText={(text) => {
          go({ search: text, operators: { ...place, page: 0 } }, true);
        }}
        found={search === "" ? null : `${count(total)} found`}
      />
      <Segments
        label="Group by"
        segments={OPERATOR_GROUPS.map((value) => ({ value, title: TITLES[value] }))}
        chosen={place.group}
        onChoose={(group) => {
          go({ operators: { group, page: 0, row: null }, sort: null });
        }}
      />
    </div>
  );
}
