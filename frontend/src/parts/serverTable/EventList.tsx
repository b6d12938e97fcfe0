import type { ReactElement } from "react";

import { inTimeline } from "../../address/links";
import type { ReportData } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { Name } from "../../components/Name";
import type { Definition } from "../../text/definitions";
import { duration, instant } from "../../text/formats";
import { PlaceLink } from "../PlaceLink";
import { EVENT_LIST_DEFINITIONS as D } from "./definitions";
import { numberOf, textOf, type TableRow } from "./rows";

interface EventListProps {
  report: ReportData;
  rows: readonly TableRow[];
  /** Column of how long an event is in the timeline. */
  length: string;
  /** Column of what is said of it, and its heading. */
  shown: string;
  shownAs: Definition;
}

/** Events by when they began: each a link to its place in the timeline. */
export function EventList(props: EventListProps): ReactElement {
  const { report, rows, length, shown, shownAs } = props;
  return (
    <PanelTable className="calls" heads={[D.start, shownAs, D.where]}>
      {rows.map((row) => {
        const start = numberOf(row, "start_us") ?? 0;
        return (
          <tr key={String(row.id)}>
            <td>
              <PlaceLink to={inTimeline(report, start, numberOf(row, length) ?? 0, Number(row.id))}>
                {instant(start - report.trace.start_us)}
              </PlaceLink>
            </td>
            <td>{duration(numberOf(row, shown))}</td>
            <td>
              <Name
                text={`${textOf(row, "phase")} ${textOf(row, "module")}`.trim()}
                className="muted"
              />
            </td>
          </tr>
        );
      })}
    </PanelTable>
  );
}

interface PanelTableProps {
  className: string;
  heads: readonly Definition[];
  children: ReactElement[];
}

/** A list of a panel with a heading over each column; nothing where it has no row. */
export function PanelTable({ className, heads, children }: PanelTableProps): ReactElement | null {
  if (children.length === 0) return null;
  return (
    <table className={`small-table ${className}`}>
      <Heads of={heads} />
      <tbody>{children}</tbody>
    </table>
  );
}
