import { PathTime } from "../api/fields";
import type { PathWork, ReportData } from "../api/schema";
import { defineField } from "../text/definitions";
import { kindText } from "../text/names";
import { groupBy } from "../text/numbers";
import type { Phase } from "./stepBars";

/** One labelled piece of the bar of the critical path. */
export interface PathSegment {
  readonly key: string;
  readonly part: PathPart;
  readonly phase: Phase | null;
  readonly label: string;
  /** Microseconds per step. */
  readonly us: number;
  /** Of the step, 0 to 1. */
  readonly share: number;
}

/** What is shorter than this is summed up with what is like it. */
const WORTH_A_LABEL = 0.04;

/** Delays in which the device was probably busy with what is not in the trace. */
export const OUTSIDE = "probably work outside of the trace";

/** The critical path; work outside of the trace that is most of it is left out: the rest would be too small to see. */
export function drawnPath(report: ReportData): readonly PathWork[] {
  const all = report.critical_path_work;
  if (!hasWorkOutside(report)) return all;
  const recorded = all.filter(({ part }) => part !== "unexplained");
  return timeOf(recorded) > 0 && 2 * timeOf(recorded) < timeOf(all) ? recorded : all;
}

function hasWorkOutside(report: ReportData): boolean {
  return report.trace.warnings.some(({ code }) => code === "unseen-queue");
}

/** What is drawn of the critical path of a step, by what ran and in that order; shares are of what is drawn. */
export function pathSegments(report: ReportData): PathSegment[] {
  const work = drawnPath(report);
  const busy = hasWorkOutside(report);
  const whole = timeOf(work);
  const keyOf = (row: PathWork): string =>
    row.us >= WORTH_A_LABEL * whole ? row.id : `${row.part}:${row.phase ?? "short"}:`;
  return [...groupBy(work, keyOf)]
    .flatMap(([key, rows]) => segment(key, rows, whole))
    .map((one) => (busy && one.part === "unexplained" ? { ...one, label: OUTSIDE } : one))
    .sort((a, b) => rank(a) - rank(b) || b.us - a.us);
}

function timeOf(work: readonly PathWork[]): number {
  return work.reduce((sum, { us }) => sum + us, 0);
}

function segment(key: string, rows: readonly PathWork[], whole: number): PathSegment[] {
  const [first] = rows;
  const part = PATH_PARTS.find((name) => name === first?.part);
  if (first === undefined || part === undefined) return [];
  const us = timeOf(rows);
  const phase = first.phase as Phase | null;
  return [{ key, part, phase, label: labelOf(part, rows), us, share: us / whole }];
}

function labelOf(part: PathPart, rows: readonly PathWork[]): string {
  const { phase, name } = rows[0] ?? { phase: null, name: null };
  if (part === "host") {
    if (phase === null) return longestOf(rows, (each) => each ?? "not named in the trace");
    return rows.length > 1 || name === null ? phase : `${phase}: ${name}`;
  }
  if (part === "device") return longestOf(rows, (kind) => kindText(kind ?? "kernels"));
  return PATH_DEFINITIONS[part].title;
}

/** The names of what takes longest. */
function longestOf(rows: readonly PathWork[], text: (name: string | null) => string): string {
  const names = rows.toSorted((a, b) => b.us - a.us).map(({ name }) => text(name));
  return names.length > 2 ? `${names.slice(0, 2).join(", ")}, …` : names.join(", ");
}

const ORDER: readonly (Phase | null)[] = [
  "forward",
  "backward",
  "optimizer",
  "data",
  "other",
  null,
];

function rank({ part, phase }: PathSegment): number {
  return PATH_PARTS.indexOf(part) * ORDER.length + ORDER.indexOf(phase);
}

/** What stands above segments next to each other; nothing where they say it themselves. */
interface PathHead {
  readonly key: string;
  readonly text: string;
  readonly share: number;
}

/** The host, and the phases of the device, above the segments in their order. */
export function pathHeads(segments: readonly PathSegment[]): PathHead[] {
  const heads = new Map<string, PathHead>();
  for (const { part, phase, share } of segments) {
    const text =
      part === "host"
        ? "host"
        : part === "device"
          ? `device${phase === null ? "" : `, ${phase}`}`
          : "";
    const key = text === "" ? part : text;
    heads.set(key, { key, text, share: share + (heads.get(key)?.share ?? 0) });
  }
  return [...heads.values()];
}

/** A segment in words. */
export function segmentText({ part, phase, label }: PathSegment): string {
  if (part === "host") return `host, ${label}`;
  if (part === "device") return `device, ${phase === null ? "" : `${phase}, `}${label}`;
  return label;
}

/** What passes the time of the critical path: the chain of dependencies that decides a step. */
export const PATH_DEFINITIONS = {
  host: defineField("host", PathTime.host),
  data: defineField("data loading", PathTime.data),
  device: defineField("device", PathTime.device),
  communication: defineField("communication", PathTime.communication),
  wait: defineField("latencies", PathTime.wait),
  unexplained: defineField("unexplained", PathTime.unexplained),
} as const;

export type PathPart = keyof typeof PATH_DEFINITIONS;

/** Parts of the critical path, in the order in which they are drawn. */
export const PATH_PARTS = [
  "host",
  "data",
  "device",
  "communication",
  "wait",
  "unexplained",
] as const satisfies readonly PathPart[];
