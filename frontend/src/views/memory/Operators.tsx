import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { type SmallColumn, SmallTable } from "../../components/SmallTable";
import { bytes, count } from "../../text/formats";
import { MEMORY_DEFINITIONS as OF } from "./definitions";

interface OperatorsProps {
  report: ReportData;
  device: string;
}

const COLUMNS: readonly SmallColumn<ReportData["memory_operators"][number]>[] = [
  ["operator", (row) => <Name text={row.operator} className="code" />],
  [OF.blocks, (row) => count(row.self_allocations)],
  [OF.self, (row) => bytes(row.self_allocated_bytes)],
  [OF.inside, (row) => bytes(row.allocated_bytes)],
  [OF.increase, (row) => signed(row.increase_bytes)],
];

/** What operators allocate, by name. */
export function Operators({ report, device }: OperatorsProps): ReactElement {
  const rows = report.memory_operators.filter((row) => row.device === device);
  return (
    <SmallTable
      className="memory-table"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      first={30}
    />
  );
}

function signed(size: number): string {
  return size < 0 ? `−${bytes(-size)}` : bytes(size);
}
