import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { compiledRemedy, compiledRows, compiledText } from "../../report/compiled";
import { count, duration } from "../../text/formats";
import { over } from "../../text/numbers";
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
  return (
    <section aria-label="Compiled code">
      <SmallTable
        className="nodes"
        first={8}
        rows={compiledRows(report)}
        keyOf={(row) => `${String(row.id)} ${row.operators}`}
        columns={[
          [D.operators, (row) => <Name text={row.operators} className="code" />],
          [D.region, (row) => row.region],
          ["direction", (row) => row.direction],
          [D.calls, (row) => count(row.calls / by)],
          [D.device, (row) => duration(over(row.device, by))],
          [D.host, (row) => duration(row.host / by)],
        ]}
      />
    </section>
  );
}
