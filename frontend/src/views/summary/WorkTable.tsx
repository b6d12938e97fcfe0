import type { ReactElement } from "react";

import { Name } from "../../components/Name";
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
    <table className="small-table shares">
      {head}
      <tbody>
        {rows.map(({ id, name, us, share }) => (
          <tr key={id}>
            <th scope="row" title={name}>
              <Name text={shown(name)} className="code" />
            </th>
            <td>{duration(us)}</td>
            <td>{percent(share)}</td>
            <td className="bar-cell">
              <ShareBar share={share} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
