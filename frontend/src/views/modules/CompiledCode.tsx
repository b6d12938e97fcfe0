import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { compiledRemedy, compiledRows, compiledText } from "../../report/compiled";
import { count, duration } from "../../text/formats";
import { COMPILED_DEFINITIONS as D } from "./definitions";

interface CompiledCodeProps {
  report: ReportData;
  /** What the numbers are divided by. */
  by: number;
}

/** What torch.compile made, on how many modules it is, and how to get the rest there. */
export function CompiledCode({ report, by }: CompiledCodeProps): ReactElement | null {
  const text = compiledText(report);
  if (text === null) return null;
  return (
    <details className="notice">
      <summary>{text}</summary>
      <Remedy report={report} />
      <Regions report={report} by={by} />
    </details>
  );
}

function Remedy({ report }: { report: ReportData }): ReactElement | null {
  const remedy = compiledRemedy(report);
  return remedy === null ? null : <p>{remedy}</p>;
}

function Regions({ report, by }: CompiledCodeProps): ReactElement {
  const rows = compiledRows(report);
  const [shown, more] = useMore(rows);
  return (
    <section aria-label="Compiled code">
      <table className="small-table nodes">
        <Heads of={[D.operators, D.region, "direction", D.calls, D.device, D.host]} />
        <tbody>
          {shown.map((row) => (
            <tr key={`${String(row.id)} ${row.operators}`}>
              <th scope="row">
                <Name text={row.operators} className="code" />
              </th>
              <td>{row.region}</td>
              <td>{row.direction}</td>
              <td>{count(row.calls / by)}</td>
              <td>{duration(row.device === null ? null : row.device / by)}</td>
              <td>{duration(row.host / by)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </section>
  );
}
