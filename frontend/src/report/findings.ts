import type { Finding, Module, ReportData, Verdict, Sync } from "../api/schema";
import { duration, percent } from "../text/formats";
import { groupBy, ratio } from "../text/numbers";
import { replayedStep } from "./measures";

/**
 * What the report advises about a sync: the finding that has it as an example; where none has,
 * as a finding holds its first examples only, those of its cause and module.
 */
export function findingsOfSync(report: ReportData, sync: Sync): Finding[] {
  const exact = report.findings.filter((finding) => finding.sync_ids.includes(sync.id));
  if (exact.length > 0) return exact;
  return report.findings.filter(
    (finding) => finding.rule === sync.cause && finding.module_id === sync.module_id,
  );
}

/** What the report advises about several syncs, most expensive first as the report has them. */
export function findingsOfSyncs(report: ReportData, syncs: readonly Sync[]): Finding[] {
  const found = new Set(syncs.flatMap((sync) => findingsOfSync(report, sync)));
  return report.findings.filter((finding) => found.has(finding));
}

/** What the report advises about a module itself, most expensive first as the report has them. */
export function findingsOfModule(report: ReportData, module: Module): Finding[] {
  return report.findings.filter((finding) => finding.module_id === module.id);
}

/** Where a finding is; a module whose name is a number is called one. */
export function placeText({ module, where }: Finding): string {
  return module !== null && /^\d/.test(module) ? `module ${where}` : where;
}

/** Findings of one rule and fix whose places differ in a number alone, as layers do. */
export function alike(findings: readonly Finding[]): [Finding, ...Finding[]][] {
  const keyOf = ({ rule, fix, where }: Finding): string =>
    `${rule} ${fix} ${where.replace(/[0-9]+/g, "#")}`;
  return [...groupBy(findings, keyOf).values()];
}

/** What a price is measured in, of the report that has the finding. */
export interface PriceBasis {
  /**
   * Mean length of the measured steps, microseconds; null without steps. Where a step
   * takes longer on the device, on that.
   */
  readonly stepUs: number | null;
  /** A later step, without what happens once and what recording cost; as recorded where unknown. */
  readonly laterUs: number | null;
  /** What a later step is without. */
  readonly without: string;
  /** Whose time a cost is. */
  readonly of: "device" | "host";
  /** "per step", or what the times of a trace without steps are of. */
  readonly per: "per step" | "in this trace";
}

export function priceBasis(report: ReportData): PriceBasis {
  const { per_step: mean, trace, verdict } = report;
  const stepUs =
    mean.duration_us === null ? null : Math.max(mean.duration_us, replayedStep(report) ?? 0);
  return {
    stepUs,
    laterUs: verdict.later_step_us ?? stepUs,
    without: withoutText(verdict),
    of: trace.devices.length > 0 ? "device" : "host",
    per: perText(report),
  };
}

function withoutText({ unrecorded_step_us: unrecorded, once_us: once }: Verdict): string {
  const parts = unrecorded === null ? [] : ["the profiler"];
  return [...parts, ...(once === null || once === 0 ? [] : ["kernel loading"])].join(" and ");
}

/** What the times of a report are of. */
export function perText({ per_step: { marked } }: ReportData): "per step" | "in this trace" {
  return marked ? "per step" : "in this trace";
}

/** More than this many times the cost is gained only where other work waited. */
const WAITED_FOR = 1.05;

/** Whose time it wastes and how much, and how much shorter a replay makes the step. */
export function priceText(finding: Finding, basis: PriceBasis): string {
  const { cost_us_per_step: cost, gain_us_per_step: gain } = finding;
  if (finding.once_us !== null) {
    return `Takes ${duration(finding.once_us)} once; later steps do not spend it again.`;
  }
  const of = (us: number, stepUs = basis.stepUs): string => {
    const share = ratio(us, stepUs);
    return share === null ? duration(us) : `${duration(us)} (${percent(share)})`;
  };
  const costs =
    cost === null
      ? "Its cost is unknown in this trace."
      : cost === 0
        ? `It costs no ${basis.of} time in this trace.`
        : `Costs ${of(cost)} of ${basis.of} time ${basis.per}.`;
  if (gain === null) {
    return cost === null || cost === 0 ? costs : `${costs} Saving not estimated.`;
  }
  const first = finding.saves_after;
  if (first !== null) {
    return `${costs} Next to no saving now: the ${first} has to get faster first.`;
  }
  const { us: saved, estimated } = shownSaving(finding);
  if (estimated && saved !== null) {
    const recorded = gain > 0 ? `; ${of(gain)} as recorded` : "";
    return `${costs} Estimated saving without ${basis.without}: ${of(saved, basis.laterUs)} ${basis.per}${recorded}.`;
  }
  if (gain <= 0) return cost === 0 ? costs : `${costs} No saving: off the critical path.`;
  const why = cost !== null && gain > WAITED_FOR * cost ? ", as other work waits for it" : "";
  return `${costs} Estimated saving: ${of(gain)} ${basis.per}${why}.`;
}

/** What a fix saves, in the least words. */
export function savingText(finding: Finding, basis: PriceBasis): string {
  const after = finding.saves_after;
  if (after !== null) return `next to no saving until the ${after} is faster`;
  const { us, estimated } = shownSaving(finding);
  if (us === null) return "saving not estimated";
  if (us <= 0) return "no saving: off the critical path";
  const share = savingShare(finding, basis);
  const without = estimated ? ` without ${basis.without} (estimate)` : "";
  return `saves ${duration(us)}${share === null ? "" : ` (${percent(share)})`} ${basis.per}${without}`;
}

/** The part of the step that a fix saves; of a later step where its saving is. */
export function savingShare(finding: Finding, basis: PriceBasis): number | null {
  const { us, estimated } = shownSaving(finding);
  return ratio(us, estimated ? basis.laterUs : basis.stepUs);
}

/** What a fix saves, as a figure; empty where that is unknown. */
export function savingFigure(finding: Finding): string {
  const { us, estimated } = shownSaving(finding);
  return us === null ? "" : `${duration(us)}${estimated ? " est." : ""}`;
}

/** What findings are ordered by: what a fix saves, or an estimate without the profiler and kernel loading. */
export function shownSaving(finding: Finding): { us: number | null; estimated: boolean } {
  const { gain_us_per_step: gain, unrecorded_gain_us_per_step: estimate } = finding;
  const estimated = finding.gain_is_estimated;
  return { us: estimated ? estimate : gain, estimated };
}
