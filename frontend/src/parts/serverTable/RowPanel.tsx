import type { ReactElement, ReactNode } from "react";

import { inTimeline } from "../../address/links";
import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { Facts } from "../../components/SmallTable";
import type { Definition } from "../../text/definitions";
import { duration, instant, NOTHING, written } from "../../text/formats";
import { PlaceLink } from "../PlaceLink";
import type { ServerColumn } from "./ServerTable";
import {
  EVENT_LIST_DEFINITIONS as D,
  numberOf,
  rowsOf,
  type TableRow,
  textOf,
  useRows,
} from "./rows";

interface RowPanelProps {
  label: string;
  /** In place of the row's name. */
  title?: string | undefined;
  target: Target;
  table: string;
  id: number;
  columns: readonly ServerColumn[];
  onClose: () => void;
  /** What follows the figures. */
  children: (row: TableRow) => ReactNode;
}

/** One row of a table of the server: its name, its figures, and what belongs to it. */
export function RowPanel(props: RowPanelProps): ReactElement | null {
  const { label, title, target, table, id, columns, onClose, children } = props;
  const question = { table, filter: [`id:eq:${id}`], limit: 1 };
  const [row] = rowsOf(useRows(target, question).value);
  if (row === undefined) return null;
  const kernel = columns.some((column) => column.kernel);
  const name = textOf(row, "name");
  return (
    <SidePanel label={label} className="row-panel" onClose={onClose}>
      <PanelHeader onClose={onClose}>
        {title ?? <Name kernel={kernel} text={name} className="wrap" />}
      </PanelHeader>
      {kernel && title === undefined && <Name text={name} className="code muted wrap" />}
      <RowFacts row={row} columns={columns} />
      {children(row)}
    </SidePanel>
  );
}

/** What the table says of a row, in full. */
export function RowFacts({
  row,
  columns,
}: {
  row: TableRow;
  columns: readonly ServerColumn[];
}): ReactElement {
  return (
    <Facts
      of={columns
        .filter(({ id }) => id !== "name" && id !== "stack")
        .map((column) => [column.definition, factText(row, column)])}
    />
  );
}

function factText(
  row: TableRow,
  { id, definition: { unit }, write }: ServerColumn,
): ReactElement | string {
  const value = row[id] ?? null;
  if (value === null || value === "") return NOTHING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return unit === undefined ? (
    <Name text={write?.(textOf(row, id)) ?? textOf(row, id)} className="wrap" />
  ) : (
    written(numberOf(row, id), unit)
  );
}

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
                text={`${textOf(row, "phase")} ${textOf(row, "module")}`.trim() || NOTHING}
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
