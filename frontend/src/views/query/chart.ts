import type { SqlAnswer } from "../../api/schema";

/** The most rows that a chart has a bar for. */
export const BARS = 40;

export interface Chart {
  /** Title of what the bars are of. */
  readonly measure: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
  /** Rows that have no bar. */
  readonly left: number;
}

const NUMBER = /^(u?int|float|double|decimal)/;

export function isNumber(type: string): boolean {
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
