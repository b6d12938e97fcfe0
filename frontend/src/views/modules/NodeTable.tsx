import type { ReactElement } from "react";

import { Heads } from "../../components/Heads";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { count, duration } from "../../text/formats";
import { NODE_DEFINITIONS as D } from "./definitions";
import type { NodeRow } from "./panel/moduleDetail";

interface NodeTableProps {
  rows: readonly NodeRow[];
  /** What the numbers are divided by. */
  by?: number;
}

/** Autograd nodes by name, in the order given; the first of them where there are many. */
export function NodeTable({ rows, by = 1 }: NodeTableProps): ReactElement {
  const [shown, more] = useMore(rows);
  return (
    <>
      <table className="small-table nodes">
        <Heads of={["name", D.count, D.device, D.host]} />
        <tbody>
          {shown.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <Name text={row.name.replace("torch::autograd::", "")} className="code" />
              </th>
              <td>{count(row.count / by)}</td>
              <td>{duration(row.device === null ? null : row.device / by)}</td>
              <td>{duration(row.host / by)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}
