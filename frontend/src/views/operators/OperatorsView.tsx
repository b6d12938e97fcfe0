import { useMemo, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { WireReport } from "../../api/types";
import { TableSection } from "../../parts/serverTable/TableSection";
import { usePlace } from "../../parts/services";
import { OperatorPanel } from "./OperatorPanel";
import type { OperatorGroup } from "./address";
import { OPERATOR_TABLES, operatorColumns } from "./columns";
import { OPERATOR_DEFINITIONS as D } from "./definitions";

const GROUPS: Readonly<Record<OperatorGroup, string>> = {
  name: "Name",
  shape: "Input shapes",
  stack: "Call stack",
  module: "Module",
};

const BY_DEVICE = {
  column: "self_device_us",
  definition: D.selfDevice,
  title: "Most expensive by own device time",
};
const BY_HOST = {
  column: "self_host_us",
  definition: D.selfHost,
  title: "Most expensive by own host time",
};
const EMPTY = { none: "The trace holds no operators.", notFound: "No operator fits the search." };

interface OperatorsViewProps {
  report: WireReport;
  target: Target;
}

/** What operators cost, on the host and on the device, grouped four ways. */
export function OperatorsView({ report, target }: OperatorsViewProps): ReactElement {
  const [{ operators: place }, go] = usePlace();
  const device = report.devices.length > 0;
  const columns = useMemo(() => operatorColumns(place.group, device), [place.group, device]);
  return (
    <div className="view">
      <div className="view-main server-table-view">
        <TableSection
          label="Operators"
          target={target}
          table={OPERATOR_TABLES[place.group].table}
          columns={columns}
          groups={GROUPS}
          place={place}
          onPlace={(next, also, quietly) => {
            go({ operators: { ...place, ...next }, ...also }, quietly);
          }}
          cost={device ? BY_DEVICE : BY_HOST}
          empty={EMPTY}
        />
      </div>
      {place.row !== null && (
        <OperatorPanel
          report={report}
          target={target}
          group={place.group}
          id={place.row}
          onClose={() => {
            go({ operators: { ...place, row: null } });
          }}
        />
      )}
    </div>
  );
}
