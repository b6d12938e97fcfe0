import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Term } from "../../components/Tip";
import { PlaceLink } from "../../parts/PlaceLink";
import { perText } from "../../report/findings";
import { divisor } from "../../report/measures";
import { shortKernelName } from "../../text/kernelName";
import { ratio } from "../../text/numbers";
import { SUMMARY_OPERATOR_DEFINITIONS, TOP_KERNEL_DEFINITIONS as KERNELS } from "./definitions";
import { hostOperators } from "./HostOperators";
import { type WorkRow, WorkTable } from "./WorkTable";

const MOST = 6;
const OPERATORS = {
  time: SUMMARY_OPERATOR_DEFINITIONS.self,
  share: SUMMARY_OPERATOR_DEFINITIONS.share,
};

/** What takes the time where no module does: kernels, or operators of a trace without a device. */
export function TopWork({ report }: { report: ReportData }): ReactElement | null {
  const kernels = topKernels(report, MOST);
  const rows = kernels.length > 0 ? kernels : hostOperators(report, MOST);
  const view = kernels.length > 0 ? "kernels" : "operators";
  if (rows.length === 0) return null;
  const D = kernels.length > 0 ? KERNELS : OPERATORS;
  return (
    <WorkTable
      head={
        <thead>
          <tr>
            <th scope="col">
              <PlaceLink to={{ view, search: "", sort: null }}>{view.slice(0, -1)}</PlaceLink>
            </th>
            <th scope="col">
              <Term text={D.time.text}>time {perText(report)}</Term>
            </th>
            <th scope="col" colSpan={2}>
              <Term text={D.share.text}>{D.share.title}</Term>
            </th>
          </tr>
        </thead>
      }
      rows={rows}
      shown={kernels.length > 0 ? shortKernelName : undefined}
    />
  );
}

/** The kernels that take the most device time. */
export function topKernels(report: ReportData, most: number): WorkRow[] {
  const kinds = Object.values(report.totals.device_us_by_kind);
  const whole = kinds.reduce((sum, us) => sum + us, 0);
  return [...report.kernels]
    .sort((a, b) => b.total_us - a.total_us)
    .slice(0, most)
    .map(({ id, name, total_us: us }) => ({
      id,
      name,
      us: us / divisor(report, "mean"),
      share: ratio(us, whole),
    }));
}
