import type { WireFinding, WireReport, WireSync } from "../api/types";
import { pathText } from "./moduleTree";

const OUTSIDE = "outside every module";

/** What the report advises about a wait: the finding of its cause and place. */
export function findingsOfSync(report: WireReport, sync: WireSync): WireFinding[] {
  const place = sync.module === null ? OUTSIDE : pathText(sync.module);
  return report.findings.filter((finding) => finding.rule === sync.cause && isAt(finding, place));
}

/** What the report advises about a module itself, dearest first as the report has them. */
export function findingsOfModule(report: WireReport, path: string): WireFinding[] {
  return report.findings.filter((finding) => isAt(finding, pathText(path)));
}

/** `where` is "module, node" for a person; the module's name may hold commas of its own. */
function isAt(finding: WireFinding, place: string): boolean {
  return finding.where.startsWith(`${place}, `);
}
