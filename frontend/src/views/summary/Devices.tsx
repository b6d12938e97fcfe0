import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { Facts } from "../../components/SmallTable";
import { NOTHING, percent, written } from "../../text/formats";
import { Block, TIMELINE } from "./Blocks";
import { DEVICE_DEFINITIONS as D } from "./definitions";
import { type DeviceRow, deviceRows } from "./tables";

/** Arguments of kernels that not every exporter writes. */
const NOT_HERE = "not in this trace";

/** How well each device is used. */
export function Devices({ report }: { report: ReportData }): ReactElement | null {
  const rows = deviceRows(report);
  if (rows.length === 0) return null;
  return (
    <Block title={rows.length > 1 ? "Devices" : "Device"} from={TIMELINE}>
      {rows.map((row) => (
        <DeviceFacts key={row.id} row={row} />
      ))}
    </Block>
  );
}

function DeviceFacts({ row }: { row: DeviceRow }): ReactElement {
  return (
    <>
      <p className="device-name">
        <Name text={row.name} />
      </p>
      <Facts
        terms
        className="device-use"
        of={[
          [D.utilization, percent(row.utilization)],
          [D.efficiency, row.efficiency === null ? NOT_HERE : percent(row.efficiency)],
          [D.occupancy, row.occupancy === null ? NOT_HERE : written(row.occupancy, "percent")],
          [D.tensorCores, percent(row.tensorCores)],
          [D.eligible, percent(row.eligible)],
          [D.overlapped, row.communication === 0 ? NOTHING : percent(row.overlapped)],
        ]}
      />
    </>
  );
}
