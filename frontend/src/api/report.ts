import { addressOf, ApiError, getJson, traceOf, type Target } from "./request";
import type { ReportData, ReportRows } from "./schema";

/** The version of the report this page understands. */
export const SCHEMA = 1;

/** Rows that each list of an answer has lost, by its path; the server bounds every answer. */
export interface Cut {
  cut?: Readonly<Record<string, number>>;
}

/** A report with all of its rows: those that the answer leaves out are asked for in turn. */
export async function loadReport(
  base: URL,
  target: Target,
  signal: AbortSignal,
): Promise<ReportData> {
  const url = addressOf(base, "report", traceOf(target));
  const { cut = {}, ...report } = await getJson<ReportData & Cut>(url, signal);
  if (report.schema !== SCHEMA) throw new ApiError("version", versionMessage(report.schema));
  const whole: Record<string, unknown> = { ...report };
  for (const table of Object.keys(cut)) {
    const rows = whole[table];
    if (Array.isArray(rows)) whole[table] = await completed(base, target, table, rows, signal);
  }
  return whole as unknown as ReportData;
}

async function completed(
  base: URL,
  target: Target,
  table: string,
  first: readonly unknown[],
  signal: AbortSignal,
): Promise<unknown[]> {
  const rows = [...first];
  for (let total = Infinity; rows.length < total;) {
    const url = addressOf(base, "report/rows", { ...traceOf(target), table, offset: rows.length });
    const page = await getJson<ReportRows>(url, signal);
    if (page.rows.length === 0) break;
    rows.push(...page.rows);
    total = page.total;
  }
  return rows;
}

function versionMessage(schema: number): string {
  return `the report has version ${schema}, this page reads version ${SCHEMA}; reload the page`;
}
