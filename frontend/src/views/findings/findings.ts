import type { Finding, ReportData, RuleInfo, Step } from "../../api/schema";
import {
  placeText,
  priceBasis,
  type PriceBasis,
  priceText,
  savingShare,
  shownSaving,
} from "../../report/findings";
import { type SyncRow, syncRows } from "../../report/syncs";
import { counted } from "../../text/formats";
import { compareNumbers, groupBy, ratio, type Sort } from "../../text/numbers";

interface FindingFilter {
  search: string;
  severity: string | null;
  confidence: string | null;
  rule: string | null;
  phase: string | null;
  /** Path of a module, `OUTSIDE` for none. */
  module: string | null;
}

/** What stands for "in no module" where a path is chosen; no path begins with a dash. */
export const OUTSIDE = "-";

export type FindingSortKey = "cost" | "gain";

/** A finding with what the rest of the report says of it. */
export interface FindingRow {
  /** As an address has it. */
  readonly id: string;
  readonly finding: Finding;
  readonly examples: readonly FindingExample[];
  /** Phases of its syncs; empty where unknown. */
  readonly phases: readonly string[];
  /** Cost and gain as a share of the mean measured step; null where unknown. */
  readonly costShare: number | null;
  readonly gainShare: number | null;
}

/** One time it was seen. */
export interface FindingExample {
  readonly start_us: number;
  /** Since the beginning of the trace. */
  readonly start: number;
  /** How long what begins there lasts, in microseconds; null for a moment. */
  readonly length: number | null;
  /** The event of the timeline that it is; null for idle times, steps and moments. */
  readonly event: number | null;
  readonly step: string | null;
  /** The sync that it is; null for anything else. */
  readonly sync: SyncRow | null;
}

export function findingRows(report: ReportData): FindingRow[] {
  const syncs = new Map(syncRows(report).map((row) => [row.sync.id, row]));
  const basis = priceBasis(report);
  return report.findings.map((finding) => {
    const own = finding.sync_ids.flatMap((id) => syncs.get(id) ?? []);
    const byStart = new Map(own.map((row) => [row.sync.start_us, row]));
    const examples = finding.examples.map((start, at) => ({
      start_us: start,
      start: start - report.trace.start_us,
      length: byStart.get(start)?.sync.duration_us ?? finding.examples_us[at] ?? null,
      event: finding.examples_event_id[at] ?? null,
      step: stepAt(report, start)?.name ?? null,
      sync: byStart.get(start) ?? null,
    }));
    const phases = examples.flatMap(({ sync }) => (sync === null ? [] : [sync.sync.phase]));
    return {
      id: finding.id,
      finding,
      examples,
      phases: [...new Set(phases)],
      costShare: finding.once_us === null ? ratio(finding.cost_us_per_step, basis.stepUs) : null,
      gainShare: savingShare(finding, basis),
    };
  });
}

export function filterFindings(rows: readonly FindingRow[], filter: FindingFilter): FindingRow[] {
  const wanted = filter.search.trim().toLowerCase();
  const is = (value: string, chosen: string | null): boolean => chosen === null || chosen === value;
  return rows.filter(
    ({ finding, phases }) =>
      is(finding.severity, filter.severity) &&
      is(finding.confidence, filter.confidence) &&
      is(finding.rule, filter.rule) &&
      is(finding.module ?? OUTSIDE, filter.module) &&
      (filter.phase === null || phases.includes(filter.phase)) &&
      (wanted === "" || haystack(finding).some((text) => text.toLowerCase().includes(wanted))),
  );
}

/**
 * Most first, or the other way; what is unknown comes last either way. Without an order that of the
 * report: by gain, where that is unknown by cost.
 */
export function sortFindings(rows: readonly FindingRow[], sort: Sort | null): FindingRow[] {
  if (sort === null) return [...rows];
  const sign = sort.descending ? -1 : 1;
  return [...rows].sort(
    (a, b) =>
      compareNumbers(amount(a, sort), amount(b, sort), sign) ||
      compareNumbers(a.finding.cost_us_per_step, b.finding.cost_us_per_step, -1),
  );
}

/** How many of these have no number to be sorted by. */
export function unknownAmounts(rows: readonly FindingRow[], sort: Sort | null): number {
  if (sort === null) return 0;
  return rows.filter((row) => amount(row, sort) === null).length;
}

function amount({ finding }: FindingRow, sort: Sort): number | null {
  return sort.key === "gain" ? shownSaving(finding).us : finding.cost_us_per_step;
}

function stepAt(report: ReportData, time: number): Step | null {
  return (
    report.steps.find(
      ({ start_us: start, duration_us: length }) => time >= start && time < start + length,
    ) ?? null
  );
}

function haystack(finding: Finding): string[] {
  const { rule, title, where, evidence, fix } = finding;
  return [rule, title, where, evidence, fix];
}

/** How many rules a trace was held against, and those only a person can look at. */
export function countRules(rules: readonly RuleInfo[]): { visible: number; unseen: number } {
  const visible = rules.filter((rule) => rule.visible).length;
  return { visible, unseen: rules.length - visible };
}

/** Rules by family, in the order of the list. */
export function ruleFamilies(rules: readonly RuleInfo[]): [family: string, rules: RuleInfo[]][] {
  return [...groupBy(rules, ({ family }) => family)];
}

/** A finding as Markdown, to be put into an issue or a chat. */
export function findingMarkdown(finding: Finding, basis: PriceBasis): string {
  const lines = [
    `### ${escaped(finding.title)}`,
    "",
    `${code(placeText(finding))} · severity ${finding.severity} · confidence ${finding.confidence} · ${code(finding.rule)}`,
    "",
    `**Cost**: ${priceText(finding, basis)} Seen ${counted(finding.count, "time")}.`,
    "",
    `**Evidence**: ${escaped(sentence(finding.evidence))}`,
    "",
    `**Fix**: ${escaped(finding.fix)}`,
    "",
    `**Reference**: ${escaped(finding.reference)}`,
  ];
  if (finding.caveats.length > 0) lines.push("", ...finding.caveats.map((c) => `- ${escaped(c)}`));
  if (finding.advice.length > 0) {
    const advice = finding.advice.map(({ title, fix }) => `- ${escaped(title)}: ${escaped(fix)}`);
    lines.push("", "Look at this as well, which no trace shows:", "", ...advice);
  }
  return `${lines.join("\n")}\n`;
}

/** Several findings as one text. */
export function findingsMarkdown(
  findings: readonly Finding[],
  basis: PriceBasis,
  trace: string,
): string {
  const head = `## ${counted(findings.length, "finding")} in ${code(trace)}\n`;
  return [head, ...findings.map((finding) => findingMarkdown(finding, basis))].join("\n");
}

/** Evidence is a phrase: as a sentence it begins large, and ends with a full stop. */
export function sentence(phrase: string): string {
  if (phrase === "") return "";
  const ended = /[.!?]$/.test(phrase) ? phrase : `${phrase}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}

/** Names of a trace may hold anything: nothing of them becomes markup. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>#|~]/g, "\\$&").replace(/\s*\n\s*/g, " ");
}

function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = /^`|`$/.test(text) ? " " : "";
  return `${fence}${pad}${text.replace(/\s*\n\s*/g, " ")}${pad}${fence}`;
}
