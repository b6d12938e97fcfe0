import type { WireFinding, WireReport, WireSync } from "../api/types";

/** What the report advises about a wait: the finding of its cause and place. */
export function findingsOfSync(report: WireReport, sync: WireSync): WireFinding[] {
  return report.findings.filter(
    (finding) => finding.rule === sync.cause && finding.module === sync.module,
  );
}

/** What the report advises about a module itself, dearest first as the report has them. */
export function findingsOfModule(report: WireReport, path: string): WireFinding[] {
  return report.findings.filter((finding) => finding.module === path);
}
