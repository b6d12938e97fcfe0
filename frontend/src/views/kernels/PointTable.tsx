import type { ReactElement } from "react";

import { Heads } from "../../components/Heads";
import { Name } from "../../components/Name";
import { duration, figure, percent } from "../../text/formats";
import type { RooflinePoint } from "./axes";
import { KERNEL_DEFINITIONS as K, ROOFLINE_DEFINITIONS as R } from "./definitions";

/** What the roofline shows, for those who do not see it. */
export function PointTable({ points }: { points: readonly RooflinePoint[] }): ReactElement {
  return (
    <details>
      <summary>The points as a table</summary>
      <table className="small-table">
        <Heads of={["name", R.intensity, R.rate, K.peak, { ...K.total, title: "time" }]} />
        <tbody>
          {points.map((point) => (
            <tr key={point.id}>
              <th scope="row">
                <Name kernel text={point.name} />
              </th>
              <td>{figure(point.intensity)}</td>
              <td>{figure(point.rate)}</td>
              <td>{percent(point.share)}</td>
              <td>{duration(point.us)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
