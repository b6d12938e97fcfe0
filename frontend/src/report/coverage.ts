import type { WireReport } from "../api/types";

type Part = [name: string, us: number];

/** Why time is not attributed, dearest first. */
export function reasonsOf(report: WireReport): Part[] {
  return parts(report.coverage.unattributed_by_reason);
}

/** What attributed the rest, most first. */
export function evidenceOf(report: WireReport): Part[] {
  return parts(report.coverage.by_evidence);
}

/** "12 events without launch" and the like: how many notes the trace carries. */
export function notesTitle(notes: number): string {
  if (notes === 0) return "no notes on data quality";
  return `${notes} ${notes === 1 ? "note" : "notes"} on data quality`;
}

function parts(amounts: Record<string, number>): Part[] {
  return Object.entries(amounts)
    .filter(([, us]) => us > 0)
    .map(([name, us]): Part => [name.replaceAll("_", " "), us])
    .sort((a, b) => b[1] - a[1]);
}
