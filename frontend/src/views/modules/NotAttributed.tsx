import type { ReactElement, ReactNode } from "react";

import type { WireReport } from "../../api/types";
import {
  counted,
  duration,
  NOTHING,
  percent,
  scaledDuration,
  type DurationScale,
} from "../../text/formats";
import { reasonsOf } from "../../report/coverage";
import { restOf, wholeOf, type Lens } from "./lens";
import { divisor, measureOf, over, ratio } from "../../report/measures";
import type { Column } from "../../components/table/features";
import { Bar } from "./columns";
import type { ModuleRow } from "./moduleRow";

interface NotAttributedProps {
  report: WireReport;
  lens: Lens;
  columns: Column<ModuleRow>[];
  scale: DurationScale;
  rowIndex: number;
}

/** What we do not know has a row. */
export function NotAttributed(props: NotAttributedProps): ReactElement {
  const cells = cellsOf(props);
  return (
    <div role="rowgroup" className="table-foot">
      <div role="row" aria-rowindex={props.rowIndex} aria-level={1} className="table-row">
        {props.columns.map((column) => (
          <div key={column.id} role="gridcell" className={`cell ${column.meta?.align ?? "start"}`}>
            {cells[column.id ?? ""] ?? NOTHING}
          </div>
        ))}
      </div>
    </div>
  );
}

function cellsOf({ report, lens, scale }: NotAttributedProps): Partial<Record<string, ReactNode>> {
  const by = divisor(report, lens.averaging);
  const whole = over(wholeOf(report, lens), by);
  const lost = over(restOf(report, lens), by);
  const syncs = report.syncs.filter((sync) => sync.module === null);
  const wait = syncs.reduce((sum, sync) => sum + sync.duration_us, 0) / by;
  const share = ratio(lost, whole);
  const text = scaledDuration(lost, scale);
  const reasons = whyNot(report, lens, by);
  return {
    module: (
      <span className="module-cell" title={reasons}>
        <span className="fold none" />
        <span className="code">not attributed</span>
        <span className="muted name">{reasons}</span>
      </span>
    ),
    total: <Bar text={text} part={share ?? 0} />,
    self: <Bar text={text} part={share ?? 0} />,
    share: percent(share),
    host:
      lens.quantity === "backward" ? duration(report.coverage.unattributed_host_us / by) : NOTHING,
    wait:
      syncs.length === 0 ? (
        NOTHING
      ) : (
        <span title={counted(syncs.length / by, "sync")}>{duration(wait)}</span>
      ),
  };
}

/** Reasons are known for the backward, in the report's own measure. */
function whyNot(report: WireReport, { quantity, clock }: Lens, by: number): string {
  if (quantity === "backward" && clock === measureOf(report)) {
    return reasonsOf(report)
      .map(([reason, us]) => `${reason} ${duration(us / by)}`)
      .join(" · ");
  }
  if (quantity === "forward") return clock === "device" ? "launched outside every module" : "";
  return quantity === "communication" ? "launched outside every module's work" : "";
}
