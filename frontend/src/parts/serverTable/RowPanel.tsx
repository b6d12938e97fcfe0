import type { ReactElement, ReactNode } from "react";

import type { Target } from "../../api/request";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { RowFacts } from "./RowFacts";
import type { ServerColumn } from "./ServerTable";
import { rowsOf, type TableRow, textOf, useRows } from "./rows";

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
