import type { ReportData } from "../api/schema";

/** Number rows and refer to them, as the server does; modules that are not listed count on. */
export function withIds(report: Omit<ReportData, "per_step">): Omit<ReportData, "per_step"> {
  const paths = new Map(report.modules.map(({ path }, id) => [path, id]));
  const idOf = (path: string | null): number | null => {
    if (path === null) return null;
    if (!paths.has(path)) paths.set(path, paths.size);
    return paths.get(path) ?? null;
  };
  return {
    ...report,
    steps: report.steps.map((row, id) => ({ ...row, id })),
    modules: report.modules.map((row, id) => ({ ...row, id, parent_id: idOf(row.parent) })),
    syncs: report.syncs.map((row, id) => ({ ...row, id, module_id: idOf(row.module) })),
    findings: report.findings.map((row) => ({
      ...row,
      id: `${row.rule}:${row.where}`,
      module_id: idOf(row.module),
    })),
  };
}
