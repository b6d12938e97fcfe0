import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { duration, figure, percent } from "../../text/formats";
import type { RooflinePoint } from "./axes";
import { KERNEL_DEFINITIONS as K, ROOFLINE_DEFINITIONS as R } from "./definitions";

/** What the roofline shows, for those who do not see it. */
export function PointTable({ points }: { points: readonly RooflinePoint[] }): ReactElement {
  return (
    <details>
      <summary>The points as a table</summary>
      <SmallTable
        rows={points}
        keyOf={({ id }) => id}
        columns={[
          ["name", ({ name }) => <Name kernel text={name} />],
          [R.intensity, ({ intensity }) => figure(intensity)],
          [R.rate, ({ rate }) => figure(rate)],
          [K.peak, ({ share }) => percent(share)],
          [{ ...K.total, title: "time" }, ({ us }) => duration(us)],
        ]}
      />
    </details>
  );
}
