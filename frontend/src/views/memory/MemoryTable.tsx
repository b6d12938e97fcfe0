import type { ReactElement } from "react";

import { Heads } from "../../components/Heads";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import type { Definition } from "../../text/definitions";

export interface MemoryColumn<Row> {
  head: Definition;
  cell: (row: Row) => string;
}

interface MemoryTableProps<Row> {
  /** Of the names. */
  head: string;
  name: (row: Row) => string;
  columns: readonly MemoryColumn<Row>[];
  rows: readonly Row[];
  /** Rows at first. */
  first: number;
}

/** Amounts by name: the first rows, and the others when they are asked for. */
export function MemoryTable<Row extends { id: number | string }>(
  props: MemoryTableProps<Row>,
): ReactElement {
  const { head, name, columns, rows, first } = props;
  const [shown, more] = useMore(rows, first);
  return (
    <>
      <table className="small-table memory-table">
        <Heads of={[head, ...columns.map((column) => column.head)]} />
        <tbody>
          {shown.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <Name text={name(row)} className="code" />
              </th>
              {columns.map((column) => (
                <td key={column.head.title}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}
