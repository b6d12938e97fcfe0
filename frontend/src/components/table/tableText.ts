import { NOTHING, written, type Unit } from "../../text/formats";

/** A table as text, for a spreadsheet or for a page of notes. Names in it come out of a trace. */

export interface TextColumn {
  title: string;
  /** What its numbers count; without it they are written as they are. */
  unit?: Unit;
}

type Row = readonly unknown[];

/** Comma-separated (RFC 4180), numbers raw and in the unit that the head names, nothing for null. */
export function tableCsv(columns: readonly TextColumn[], rows: readonly Row[]): string {
  const head = columns.map(({ title, unit }) =>
    unit === undefined ? title : `${title} (${unit})`,
  );
  return [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n");
}

/** A Markdown table, numbers as the page writes them. */
export function tableMarkdown(columns: readonly TextColumn[], rows: readonly Row[]): string {
  const numeric = columns.map((_, at) => rows.some((row) => typeof row[at] === "number"));
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map(({ title }) => markdownText(title))),
    line(numeric.map((right) => (right ? "---:" : "---"))),
    ...rows.map((row) => line(columns.map(({ unit }, at) => markdownCell(row[at], unit)))),
  ].join("\n");
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = plain(value);
  // A spreadsheet would run a name that begins like a formula.
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function markdownCell(value: unknown, unit: Unit | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (typeof value === "number") return unit === undefined ? String(value) : written(value, unit);
  return markdownText(plain(value));
}

function markdownText(text: string): string {
  return text.replace(/[\\`*_[\]<>|~&#!]/g, "\\$&").replace(/\s+/g, " ");
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
