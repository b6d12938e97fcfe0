import type { ReactElement } from "react";

import type { WireMemoryModule } from "../../api/types";
import { bytes, count, duration } from "../../text/formats";
import { moduleText } from "./AtPeak";
import { MEMORY_DEFINITIONS as OF } from "./definitions";
import { MemoryTable, type MemoryColumn } from "./MemoryTable";

const COLUMNS: readonly MemoryColumn<WireMemoryModule>[] = [
  { head: OF.count, cell: (row) => count(row.activations) },
  { head: OF.activations, cell: (row) => bytes(row.activation_bytes) },
  { head: OF.lifetime, cell: (row) => duration(row.activation_lifetime_us) },
  { head: OF.longest, cell: (row) => duration(row.activation_longest_us) },
];

/** Modules by how long their activations live. */
export function Activations({ rows }: { rows: readonly WireMemoryModule[] }): ReactElement {
  const saving = rows
    .filter((row) => row.activations > 0)
    .sort((a, b) => (b.activation_lifetime_us ?? 0) - (a.activation_lifetime_us ?? 0));
  if (saving.length === 0) {
    return <p className="notice">No activation is saved for a backward pass here.</p>;
  }
  return (
    <MemoryTable
      head="module"
      name={(row) => moduleText(row.module)}
      columns={COLUMNS}
      rows={saving}
      first={30}
    />
  );
}
