import { useMemo, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { TableSection } from "../../parts/serverTable/TableSection";
import { usePlace } from "../../parts/services";
import { PlaceLink } from "../../parts/PlaceLink";
import { rowsNote } from "../../report/measures";
import { counted } from "../../text/formats";
import { OperatorPanel } from "./OperatorPanel";
import type { OperatorGroup } from "./address";
import { OPERATOR_DETAILS, OPERATOR_TABLES, operatorColumns } from "./columns";
import { OPERATOR_DEFINITIONS as D } from "./definitions";
import { StackIcicle } from "./StackIcicle";

const GROUPS: Readonly<Record<OperatorGroup, string>> = {
  name: "Name",
  shape: "Input shapes",
  stack: "Call stack",
  module: "Module",
};

const BY_DEVICE = {
  column: "self_device_us",
  definition: D.selfDevice,
  title: "Most expensive by self device time",
};
const BY_HOST = {
  column: "self_host_us",
  definition: D.selfHost,
  title: "Most expensive by self host time",
};
const EMPTY = {
  none: "The trace holds no operators.",
  notFound: "No operator matches the search.",
};

interface OperatorsViewProps {
  report: ReportData;
  target: Target;
}

/** What operators cost, on the host and on the device, grouped four ways. */
export function OperatorsView({ report, target }: OperatorsViewProps): ReactElement {
  const [{ operators: place }, go] = usePlace();
  const device = report.devices.length > 0;
  const cost = device ? BY_DEVICE : BY_HOST;
  const stacks = place.group === "stack" && report.operators.length > 0;
  const columns = useMemo(() => operatorColumns(place.group, device), [place.group, device]);
  return (
    <div className="view">
      <div className="view-main server-table-view">
        <NoOperator report={report} />
        <TableSection
          label="Operators"
          target={target}
          table={OPERATOR_TABLES[place.group].table}
          columns={columns}
          groups={GROUPS}
          place={place}
          onPlace={(next, also, quietly) =>
            go({ operators: { ...place, ...next }, ...also }, quietly)
          }
          cost={cost}
          of={rowsNote(report)}
          expected={report.operators.length}
          detail={OPERATOR_DETAILS[place.group]}
          empty={EMPTY}
          picture={
            stacks ? (
              <StackIcicle
                target={target}
                title={cost.title}
                column={cost.column}
                of={rowsNote(report)}
              />
            ) : undefined
          }
        />
      </div>
      {place.row !== null && (
        <OperatorPanel
          report={report}
          target={target}
          group={place.group}
          id={place.row}
          onClose={() => go({ operators: { ...place, row: null } })}
        />
      )}
    </div>
  );
}

/** Why the device times of operators may sum to less than those of kernels. */
function NoOperator({ report }: { report: ReportData }): ReactElement | null {
  const warning = report.trace.warnings.find(({ code }) => code === "no-launch");
  if (warning === undefined) return null;
  return (
    <p className="notice">
      {counted(warning.count, "device event")} without a launch in the trace: in no operator, only
      in <PlaceLink to={{ view: "kernels", search: "", sort: null }}>Kernels</PlaceLink>.
    </p>
  );
}
