import { type ReactElement, useMemo, useState } from "react";

import type { SqlAnswer } from "../../api/schema";
import { Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import { DataTable } from "../../components/table/DataTable";
import type { Column } from "../../components/table/props";
import { define } from "../../text/definitions";
import { count, counted, figure, NOTHING } from "../../text/formats";
import type { Sort } from "../../text/numbers";

interface Row {
  readonly id: number;
  readonly values: readonly unknown[];
}

/** The rows of an answer as a table, and as bars where that says something. */
export function Answer({ answer }: { answer: SqlAnswer }): ReactElement {
  const [sort, setSort] = useState<Sort>({ key: "", descending: false });
  const [selected, setSelected] = useState<string | null>(null);
  const columns = useMemo(() => columnsOf(answer), [answer]);
  const rows = useMemo(() => sorted(answer, sort), [answer, sort]);
  const chart = useMemo(() => chartOf(answer), [answer]);
  return (
    <>
      {chart !== null && <Bars chart={chart} />}
      <p className="muted" role="status">
        {cutTo(answer)}
      </p>
      <DataTable
        label="Rows"
        columns={columns}
        rows={rows}
        rowId={(row) => String(row.id)}
        sort={sort}
        onSort={setSort}
        selected={selected}
        onSelect={setSelected}
        empty="No rows."
      />
    </>
  );
}

/** What is left out; nothing where all rows are here. */
function cutTo({ rows, total }: SqlAnswer): string {
  if (total === null) return `The first ${count(rows.length)} rows; there are more`;
  return total > rows.length ? `The first ${count(rows.length)} of ${counted(total, "row")}` : "";
}

function columnsOf({ columns }: SqlAnswer): Column<Row>[] {
  return columns.map(({ name, type }, index) => {
    const number = isNumber(type);
    return {
      id: String(index),
      header: name,
      accessorFn: (row) => row.values[index],
      cell: ({ row }) => <Value value={row.original.values[index]} />,
      meta: {
        definition: define(name, `Type: ${type}`),
        width: number ? 120 : 0,
        align: number ? "end" : "start",
      },
    };
  });
}

function Value({ value }: { value: unknown }): ReactElement {
  if (value === null || value === undefined) return <>{NOTHING}</>;
  if (typeof value === "number")
    return <>{Number.isInteger(value) ? count(value) : figure(value)}</>;
  return <Name text={typeof value === "string" ? value : JSON.stringify(value)} />;
}

function sorted({ rows }: SqlAnswer, { key, descending }: Sort): Row[] {
  const made = rows.map((values, id) => ({ id, values }));
  if (key === "") return made;
  const at = Number(key);
  const sign = descending ? -1 : 1;
  return made.sort((a, b) => compare(a.values[at], b.values[at], sign));
}

/** Numbers by size, all else by its letters; nothing comes last either way. */
function compare(a: unknown, b: unknown, sign: number): number {
  const none = (value: unknown): boolean => value === null || value === undefined;
  if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b));
}

function Bars({ chart }: { chart: Chart }): ReactElement {
  const most = Math.max(...chart.bars.map(({ value }) => value));
  return (
    <section className="facet query-bars" aria-label="Chart">
      <h2>{chart.measure}</h2>
      <ol>
        {chart.bars.map(({ label, value }, index) => (
          <li key={index}>
            <Name text={label} />
            <ShareBar share={most > 0 ? value / most : null} />
            <span>{Number.isInteger(value) ? count(value) : figure(value)}</span>
          </li>
        ))}
      </ol>
      {chart.left > 0 && <p className="muted">{counted(chart.left, "row")} more below</p>}
    </section>
  );
}

/** The most rows that a chart has a bar for. */
export const BARS = 40;

interface Chart {
  /** Title of what the bars are of. */
  readonly measure: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
  /** Rows that have no bar. */
  readonly left: number;
}

const NUMBER = /^(u?int|float|double|decimal)/;

function isNumber(type: string): boolean {
  return NUMBER.test(type);
}

function isId(name: string): boolean {
  return name === "id" || name.endsWith("_id");
}

/**
 * The rows as bars: the last column of numbers that are no ids, labelled by the columns of text; null where there
 * is no such column, no text, or a negative number.
 */
export function chartOf({ columns, rows }: SqlAnswer): Chart | null {
  const at = columns.findLastIndex(({ name, type }) => isNumber(type) && !isId(name));
  const texts = columns.flatMap(({ type }, index) => (type === "string" ? [index] : []));
  const measure = columns[at];
  if (measure === undefined || texts.length === 0 || rows.length < 2) return null;
  const bars = rows.slice(0, BARS).map((row) => ({
    label: texts.map((index) => labelOf(row[index])).join(" · "),
    value: typeof row[at] === "number" ? row[at] : 0,
  }));
  if (bars.some(({ value }) => value < 0)) return null;
  return { measure: measure.name, bars, left: rows.length - bars.length };
}

function labelOf(value: unknown): string {
  return typeof value === "string" ? value : "—";
}
