import type { ReactElement } from "react";

import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { count, duration } from "../../text/formats";
import { over } from "../../text/numbers";
import { NODE_DEFINITIONS as D } from "./definitions";
import type { NodeRow } from "./panel/moduleDetail";

interface NodeTableProps {
  rows: readonly NodeRow[];
  /** What the numbers are divided by. */
  by?: number;
}

/** Autograd nodes by name, in the order given; the first of them where there are many. */
export function NodeTable({ rows, by = 1 }: NodeTableProps): ReactElement {
  return (
    <SmallTable
      className="nodes"
      first={8}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        [
          "name",
          ({ name }) => <Name text={name.replace("torch::autograd::", "")} className="code" />,
        ],
        [D.count, (row) => count(row.count / by)],
        [D.device, (row) => duration(over(row.device, by))],
        [D.host, (row) => duration(row.host / by)],
      ]}
    />
  );
}
