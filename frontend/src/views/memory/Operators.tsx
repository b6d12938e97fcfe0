import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { bytes, count } from "../../text/formats";
import { MEMORY_DEFINITIONS as OF } from "./definitions";

interface OperatorsProps {
  report: WireReport;
  device: string;
}

/** What operators allocate, by name. */
export function Operators({ report, device }: OperatorsProps): ReactElement {
  const rows = report.memory_operators.filter((row) => row.device === device);
  const [shown, more] = useMore(rows, 30);
  return (
    <>
      <table className="small-table memory-table">
        <thead>
          <tr>
            <th scope="col">operator</th>
            <th scope="col">blocks</th>
            {[OF.self, OF.inside, OF.increase].map(({ title, text }) => (
              <th key={title} scope="col">
                <Term text={text}>{title}</Term>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <Name text={row.operator} className="code" />
              </th>
              <td>{count(row.self_allocations)}</td>
              <td>{bytes(row.self_allocated_bytes)}</td>
              <td>{bytes(row.allocated_bytes)}</td>
              <td>{signed(row.increase_bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

function signed(size: number): string {
  return size < 0 ? `−${bytes(-size)}` : bytes(size);
}
