import type { ReactElement } from "react";

import type { MemoryModule } from "../../api/schema";
import { type SmallColumn, SmallTable } from "../../components/SmallTable";
import { bytes, count, duration } from "../../text/formats";
import { MODULE } from "./AtPeak";
import { MEMORY_DEFINITIONS as OF } from "./definitions";

const COLUMNS: readonly SmallColumn<MemoryModule>[] = [
  MODULE,
  [OF.count, (row) => count(row.activations)],
  [OF.activations, (row) => bytes(row.activation_bytes)],
  [OF.lifetime, (row) => duration(row.activation_lifetime_us)],
  [OF.longest, (row) => duration(row.activation_longest_us)],
];

/** Modules by how long their activations live. */
export function Activations({ rows }: { rows: readonly MemoryModule[] }): ReactElement {
  const saving = rows
    .filter((row) => row.activations > 0)
    .sort((a, b) => (b.activation_lifetime_us ?? 0) - (a.activation_lifetime_us ?? 0));
  if (saving.length === 0) {
    return <p className="notice">No activation is saved for a backward pass here.</p>;
  }
  return (
    <SmallTable
      className="memory-table"
      columns={COLUMNS}
      rows={saving}
      keyOf={({ id }) => id}
      first={30}
    />
  );
}
