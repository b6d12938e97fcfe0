import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { Term } from "../../components/Tip";
import { PlaceLink } from "../../parts/PlaceLink";
import { divisor } from "../../report/measures";
import { shortKernelName } from "../../text/kernelName";
import { ratio } from "../../text/numbers";
import { SUMMARY_OPERATOR_DEFINITIONS as O, SUMMARY_TABLE_DEFINITIONS as K } from "./definitions";
import { hostOperators } from "./HostOperators";
import { type WorkRow, WorkTable } from "./WorkTable";

const MOST = 6;

/** What takes the time where no module does: kernels, or operators of a trace without a device. */
export function TopWork({ report }: { report: WireReport }): ReactElement | null {
  const kernels = topKernels(report, MOST);
  const rows = kernels.length > 0 ? kernels : hostOperators(report, MOST);
  const view = kernels.length > 0 ? "kernels" : "operators";
  if (rows.length === 0) return null;
  const [time, share] = kernels.length > 0 ? [K.kernel, K.kindShare] : [O.self, O.share];
  return (
    <WorkTable
      head={
        <thead>
          <tr>
            <th scope="col">
              <PlaceLink to={{ view, search: "", sort: null }}>{view.slice(0, -1)}</PlaceLink>
            </th>
            <th scope="col">
              <Term text={time.text}>time per step</Term>
            </th>
            <th scope="col" colSpan={2}>
              <Term text={share.text}>share</Term>
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
export function topKernels(report: WireReport, most: number): WorkRow[] {
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
