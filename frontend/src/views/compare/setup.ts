import type { ReportData } from "../../api/schema";

/** What of two recordings differs, other than the training, so that their times are no like for like. */
export function setupDifferences(before: ReportData, after: ReportData): string[] {
  return Object.entries(SETUP).flatMap(([title, of]) => {
    const [was, is] = [of(before), of(after)];
    return was === null || is === null || was === is ? [] : [`${title} ${was} → ${is}`];
  });
}

/** Null where the trace does not say. */
const SETUP: Readonly<Record<string, (report: ReportData) => string | null>> = {
  device: ({ trace }) => named(trace.devices.map(({ name }) => name)),
  platform: ({ trace }) => named(trace.devices.map(({ kind }) => kind)),
  devices: ({ trace }) => (trace.devices.length === 0 ? "none" : String(trace.devices.length)),
  torch: ({ trace }) => trace.torch_version,
  ranks: ({ trace }) => (trace.world_size === null ? null : String(trace.world_size)),
  "memory recorded": ({ memory_peaks: peaks }) => (peaks.length > 0 ? "yes" : "no"),
  "shapes recorded": ({ modules }) =>
    modules.length === 0 ? null : modules.some(({ shapes }) => shapes.length > 0) ? "yes" : "no",
};

function named(names: readonly string[]): string | null {
  const known = [...new Set(names.filter((name) => name !== ""))];
  return known.length === 0 ? null : known.join(", ");
}
