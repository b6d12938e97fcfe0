import type { WireFinding, WireModule, WireReport, WireSync } from "../api/types";
import { duration, percent } from "../text/formats";
import { ratio } from "../text/numbers";

/**
 * What the report advises about a sync: the finding that has it as an example; where none has,
 * as a finding holds its first examples only, those of its cause and module.
 */
export function findingsOfSync(report: WireReport, sync: WireSync): WireFinding[] {
  const exact = report.findings.filter((finding) => finding.sync_ids.includes(sync.id));
  if (exact.length > 0) return exact;
  return report.findings.filter(
    (finding) => finding.rule === sync.cause && finding.module_id === sync.module_id,
  );
}

/** What the report advises about several syncs, most expensive first as the report has them. */
export function findingsOfSyncs(report: WireReport, syncs: readonly WireSync[]): WireFinding[] {
  const found = new Set(syncs.flatMap((sync) => findingsOfSync(report, sync)));
  return report.findings.filter((finding) => found.has(finding));
}

/** What the report advises about a module itself, most expensive first as the report has them. */
export function findingsOfModule(report: WireReport, module: WireModule): WireFinding[] {
  return report.findings.filter((finding) => finding.module_id === module.id);
}

/** What it costs and what a replay gains without it, in a sentence. */
export function priceText(finding: WireFinding, stepUs: number | null): string {
  const { cost_us_per_step: cost, gain_us_per_step: gain } = finding;
  const of = (us: number): string => {
    const share = ratio(us, stepUs);
    return share === null ? duration(us) : `${duration(us)} (${percent(share)})`;
  };
  const gains = gain !== null && gain > 0 ? `ithout it a step would be ${of(gain)} shorter.` : null;
  if (cost === 0) return gains === null ? "Costs no device time in this trace." : `W${gains}`;
  const costs = cost === null ? "The cost is unknown in this trace" : `Costs ${of(cost)} a step`;
  if (gains !== null) return `${costs}; w${gains}`;
  if (cost === null) return `${costs}.`;
  return gain === null
    ? `${costs}; what the fix gains is unknown.`
    : `${costs}; without it a step would be no shorter.`;
}
