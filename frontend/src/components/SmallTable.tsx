import type { ReactElement, ReactNode } from "react";

import { type Heading, Heads } from "./Heads";
import { Term } from "./Tip";
import { useMore } from "./more";
import { useWords } from "./words";

/** A column: its heading, null below a heading that spans several, and the cell of a row. */
export type SmallColumn<Row> = readonly [
  heading: Heading | null,
  cell: (row: Row) => ReactNode,
  className?: string,
];

interface SmallTableProps<Row> {
  columns: readonly SmallColumn<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  className?: string;
  caption?: ReactNode;
  /** What stands in the place of the columns' own headings; null: nothing. */
  head?: ReactElement | null;
  /** How many rows stand there at first; all of them without. */
  first?: number;
  rowClass?: (row: Row) => string;
}

/** A table that neither sorts nor scrolls: the first cell of a row is its heading. */
export function SmallTable<Row>(props: SmallTableProps<Row>): ReactElement {
  const { columns, rows, keyOf, className = "", caption, head, first, rowClass } = props;
  const [shown, more] = useMore(rows, first ?? Infinity);
  const headings = columns.flatMap(([heading]) => (heading === null ? [] : [heading]));
  return (
    <>
      <table className={`small-table ${className}`.trimEnd()}>
        {caption}
        {head === undefined ? <Heads of={headings} /> : head}
        <tbody>
          {shown.map((row) => (
            <tr key={keyOf(row)} className={rowClass?.(row)}>
              {columns.map(([, cell, cellClass], at) =>
                at === 0 ? (
                  <th key={at} scope="row" className={cellClass}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={at} className={cellClass}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

/** What something is called, or its definition; what it is; whether that deserves a look. */
export type Fact = readonly [
  title: ReactNode | { title: string; text: string },
  value: ReactNode,
  look?: boolean,
];

interface FactsProps {
  of: readonly (Fact | false | null)[];
  className?: string;
  /** Whether a definition is reached by the keyboard; else the tooltip of the whole fact has it. */
  terms?: boolean;
}

/** Facts below each other, those left out that are none. */
export function Facts({ of, className = "facts", terms = false }: FactsProps): ReactElement {
  const words = useWords();
  return (
    <dl className={className}>
      {of.map((fact, at) => {
        if (fact === false || fact === null) return null;
        const [title, value, look = false] = fact;
        const defined = isDefinition(title) ? title : null;
        return (
          <div key={at} title={terms || defined === null ? undefined : words(defined.text)}>
            <dt>
              {terms && defined !== null ? (
                <Term text={defined.text}>{defined.title}</Term>
              ) : defined === null ? (
                (title as ReactNode)
              ) : (
                words(defined.title)
              )}
            </dt>
            <dd className={look ? "look" : undefined}>{value}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function isDefinition(title: Fact[0]): title is { title: string; text: string } {
  return typeof title === "object" && title !== null && "text" in title;
}
