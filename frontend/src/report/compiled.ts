import type { ReportData } from "../api/schema";

/** One row of compiled code: what it ran, and where. */
export interface CompiledRow {
  readonly id: number;
  readonly operators: string;
  readonly region: string;
  readonly direction: "forward" | "backward";
  readonly calls: number;
  readonly host: number;
  readonly device: number | null;
}

/** How much of the compiled code has modules; null without compiled code. */
export function compiledText(report: ReportData): string | null {
  const { compiled, compiled_regions: regions } = report;
  if (compiled !== null && compiled.placed === compiled.calls)
    return `Compiled code: all ${String(compiled.calls)} calls of graphs are on their modules.`;
  if (compiled !== null) {
    const whole = Object.entries(compiled.whole_by_reason).map(
      ([reason, calls]) => `${String(calls)} ${reason}`,
    );
    return `Compiled code: ${String(compiled.placed)} of ${String(compiled.calls)} calls of graphs are on their modules, the others with the module around them (${whole.join(", ")}).`;
  }
  if (regions.length === 0) return null;
  return "Compiled code is not broken down by module.";
}

/** How to get modules of compiled code. */
export const COMPILED_REMEDY =
  "For times by module, call hookview.wrap() before the first compiled step, with torch 2.10 or later, and record with hookview.profile: docs/how-to/compiled.md.";

/** The reason of graphs that the recorder does not know. */
const NO_MAP = "no map of the graph";

/** The same where the recorder was there, but not when the code was compiled. */
export const CACHED_REMEDY =
  "For times by module, call hookview.wrap() before the first compiled step and, where torch has the code in its cache, set TORCHINDUCTOR_CACHE_DIR to a new folder: docs/how-to/compiled.md.";

/** How to get modules where a lump stands; null where there is none. */
export function compiledRemedy(report: ReportData): string | null {
  const { compiled, compiled_regions: regions } = report;
  if (compiled === null) return regions.length === 0 ? null : COMPILED_REMEDY;
  if (compiled.placed === compiled.calls) return null;
  return NO_MAP in compiled.whole_by_reason ? CACHED_REMEDY : COMPILED_REMEDY;
}

/** The most expensive compiled code first, as the report has it. */
export function compiledRows(report: ReportData): CompiledRow[] {
  return report.compiled_regions.map((row) => ({
    id: row.id,
    operators: row.operators === "" ? "between operators" : row.operators,
    region: row.region?.replace("Torch-Compiled Region: ", "") ?? "",
    direction: row.backward ? "backward" : "forward",
    calls: row.calls,
    host: row.host_us,
    device: row.device_us,
  }));
}
