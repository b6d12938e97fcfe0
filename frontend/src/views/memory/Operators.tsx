import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { bytes, count } from "../../text/formats";
import { MEMORY_DEFINITIONS as OF } from "./definitions";
import { MemoryTable, type MemoryColumn } from "./MemoryTable";

interface OperatorsProps {
  report: WireReport;
  device: string;
}

const COLUMNS: readonly MemoryColumn<WireReport["memory_operators"][number]>[] = [
  { head: OF.blocks, cell: (row) => count(row.self_allocations) },
  { head: OF.self, cell: (row) => bytes(row.self_allocated_bytes) },
  { head: OF.inside, cell: (row) => bytes(row.allocated_bytes) },
  { head: OF.increase, cell: (row) => signed(row.increase_bytes) },
];

/** What operators allocate, by name. */
export function Operators({ report, device }: OperatorsProps): ReactElement {
  const rows = report.memory_operators.filter((row) => row.device === device);
  return (
    <MemoryTable
      head="operator"
      name={(row) => row.operator}
      columns={COLUMNS}
      rows={rows}
      first={30}
    />
  );
}

function signed(size: number): string {
  return size < 0 ? `−${bytes(-size)}` : bytes(size);
}
