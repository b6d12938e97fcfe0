import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { ShareBar } from "../../components/charts";
import { duration, percent } from "../../text/formats";

export interface WorkRow {
  readonly id: number;
  readonly name: string;
  /** Microseconds per step. */
  readonly us: number;
  /** Of all rows' time, those that are not shown included; 0 to 1. */
  readonly share: number | null;
}

/** Operators or kernels with their time and its share; `shown` shortens a name. */
export function WorkTable({
  head,
  rows,
  shown = (name) => name,
}: {
  head: ReactElement;
  rows: readonly WorkRow[];
  shown?: ((name: string) => string) | undefined;
}): ReactElement {
  return (
    <SmallTable
      className="shares"
      head={head}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        [null, ({ name }) => <Name text={shown(name)} className="code" />],
        [null, ({ us }) => duration(us)],
        [null, ({ share }) => percent(share)],
        [null, ({ share }) => <ShareBar share={share} />, "bar-cell"],
      ]}
    />
  );
}
