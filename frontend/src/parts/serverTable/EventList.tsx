import type { ReactElement } from "react";

import { inTimeline } from "../../address/links";
import type { WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { duration, instant } from "../../text/formats";
import { PlaceLink } from "../PlaceLink";
import { numberOf, textOf, type TableRow } from "./rows";

interface EventListProps {
  report: WireReport;
  rows: readonly TableRow[];
  /** Column of how long an event is in the timeline. */
  length: string;
  /** Column of what is said of it. */
  shown: string;
}

/** Events by when they began: each a link to its place in the timeline. */
export function EventList({ report, rows, length, shown }: EventListProps): ReactElement {
  return (
    <ol className="calls">
      {rows.map((row) => {
        const start = numberOf(row, "start_us") ?? 0;
        return (
          <li key={String(row.id)}>
            <PlaceLink to={inTimeline(report, start, numberOf(row, length) ?? 0, Number(row.id))}>
              {instant(start - report.trace.start_us)}
            </PlaceLink>
            <span>{duration(numberOf(row, shown))}</span>
            <Name
              text={`${textOf(row, "phase")} ${textOf(row, "module")}`.trim()}
              className="muted"
            />
          </li>
        );
      })}
    </ol>
  );
}
