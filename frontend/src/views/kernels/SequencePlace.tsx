import type { ReactElement } from "react";

import { inTimeline } from "../../address/links";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { numberOf, textOf, type TableRow } from "../../parts/serverTable/rows";
import { instant } from "../../text/formats";

/** The kernels of a sequence in their order, and where it comes first. */
export function SequencePlace({
  report,
  row,
}: {
  report: ReportData;
  row: TableRow;
}): ReactElement {
  const start = numberOf(row, "start_us") ?? 0;
  const place = inTimeline(report, start, numberOf(row, "span_us") ?? 0, Number(row.id));
  return (
    <section>
      <h3>Kernels in a row</h3>
      <ol className="stack">
        {textOf(row, "name")
          .split("\n")
          .map((name, index) => (
            <li key={index}>
              <Name kernel text={name} className="code wrap" />
            </li>
          ))}
      </ol>
      <p className="muted">
        The gain is a bound, not a promise: one kernel takes at least as long as the longest of
        them.
      </p>
      <PlaceLink className="button" to={place}>
        Show the first at {instant(start - report.trace.start_us)}
      </PlaceLink>
    </section>
  );
}
