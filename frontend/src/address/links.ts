import type { ReportData, Sync } from "../api/schema";
import type { DevicePart, Phase } from "../report/stepBars";
import type { Place } from "./place";

/** How much of the width what is shown takes. */
const SHARE = 0.6;

/** No view is narrower than this. */
const LEAST_US = 0.1;

/**
 * Where the timeline shows a time of the report (its clock, `start_us` and length in microseconds):
 * that time selected, with some of what is around it. With `event`, an id of the timeline, that
 * event is selected instead.
 */
export function inTimeline(
  report: { trace: Pick<ReportData["trace"], "start_us"> },
  startUs: number,
  durationUs: number,
  event: number | null = null,
): Partial<Place> {
  const from = startUs - report.trace.start_us;
  const length = Math.max(durationUs, LEAST_US);
  const around = (length / SHARE - length) / 2;
  return {
    view: "timeline",
    shown: { from: from - around, to: from + length + around },
    range: event === null ? { from, to: from + length } : null,
    event: event === null ? null : String(event),
    search: "",
    sort: null,
  };
}

/** Where the timeline shows a sync: its call selected. */
export function syncInTimeline(
  report: { trace: Pick<ReportData["trace"], "start_us"> },
  sync: Pick<Sync, "start_us" | "duration_us" | "event_id">,
): Partial<Place> {
  return inTimeline(report, sync.start_us, sync.duration_us, sync.event_id);
}

/** Where the page says more of a phase of the host. */
export function phasePlace(phase: Phase): Partial<Place> {
  if (phase === "forward" || phase === "backward") {
    return { view: "modules", quantity: phase, ...FRESH };
  }
  return { view: "timeline", ...FRESH };
}

/** Where the page shows a module. */
export function modulePlace(module: string): Partial<Place> {
  return { view: "modules", module, zoom: null, ...FRESH };
}

/** Where the page shows a finding, or (null) all of them. */
export function findingPlace(finding: string | null): Partial<Place> {
  return { view: "findings", finding, ...FRESH };
}

/** Where the page says more of what a device did. */
export function devicePlace(part: DevicePart): Partial<Place> {
  return { view: part === "sync" ? "syncs" : "timeline", ...FRESH };
}

/** Where a replay says what a step would take without a finding. */
export function withoutFinding(id: string): Partial<Place> {
  return { view: "whatif", whatIf: { without: [id], scale: [] }, ...FRESH };
}

const FRESH = { search: "", sort: null } as const;
