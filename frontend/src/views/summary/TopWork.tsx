import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import { PlaceLink } from "../../parts/PlaceLink";
import { divisor } from "../../report/measures";
import { duration, percent } from "../../text/formats";
import { shortKernelName } from "../../text/kernelName";
import { ratio } from "../../text/numbers";
import { hostOperators } from "./HostOperators";

const MOST = 6;

interface WorkRow {
  readonly id: number;
  readonly name: string;
  /** Microseconds per step. */
  readonly us: number;
  readonly share: number | null;
}

/** What takes the time where no module does: kernels, or operators of a trace without a device. */
export function TopWork({ report }: { report: WireReport }): ReactElement | null {
  const kernels = topKernels(report, MOST);
  const rows = kernels.length > 0 ? kernels : hostOperators(report, MOST);
  const view = kernels.length > 0 ? "kernels" : "operators";
  if (rows.length === 0) return null;
  return (
    <table className="small-table shares">
      <thead>
        <tr>
          <th scope="col">
            <PlaceLink to={{ view, search: "", sort: null }}>{view.slice(0, -1)}</PlaceLink>
          </th>
          <th scope="col">time per step</th>
          <th scope="col" colSpan={2}>
            share
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, name, us, share }) => (
          <tr key={id}>
            <th scope="row" title={name}>
              <Name text={kernels.length > 0 ? shortKernelName(name) : name} className="code" />
            </th>
            <td>{duration(us)}</td>
            <td>{percent(share)}</td>
            <td className="bar-cell">
              <ShareBar share={share} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
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
