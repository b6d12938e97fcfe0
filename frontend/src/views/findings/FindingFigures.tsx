import type { ReactElement } from "react";

import type { ReportData, RuleInfo } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { meansNote } from "../../report/measures";
import { tallyOf } from "../../report/syncs";
import { count, percent } from "../../text/formats";
import { FINDING_DEFINITIONS as D } from "./definitions";
import { countRules, type FindingRow, sortFindings } from "./findings";

interface FindingFiguresProps {
  report: ReportData;
  rows: readonly FindingRow[];
  rules: readonly RuleInfo[] | null;
}

/** How many findings there are, of what weight, and what the most expensive costs. */
export function FindingFigures({ report, rows, rules }: FindingFiguresProps): ReactElement {
  const [mostExpensive] = sortFindings(rows, { key: "cost", descending: true });
  const severities = tallyOf(rows.map(({ finding }) => finding.severity));
  const of = rules === null ? "" : `of ${countRules(rules).visible} rules`;
  return (
    <dl className="figures">
      <Figure definition={D.findings} number={count(rows.length)} note={of} />
      {SEVERITIES.map((severity) => (
        <Figure
          key={severity}
          definition={{ title: severity, text: D.severity.text }}
          number={count(severities.find(([name]) => name === severity)?.[1] ?? 0)}
        />
      ))}
      <DurationFigure
        definition={D.mostExpensive}
        us={mostExpensive?.finding.cost_us_per_step}
        note={
          mostExpensive?.costShare == null ? "" : `${percent(mostExpensive.costShare)} of the step`
        }
      />
      <DurationFigure
        definition={D.step}
        us={report.per_step.duration_us}
        note={meansNote(report)}
      />
    </dl>
  );
}

const SEVERITIES = ["high", "medium", "low", "info"];
