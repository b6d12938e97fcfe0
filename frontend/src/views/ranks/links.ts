import { findingPlace, inTimeline, modulePlace } from "../../address/links";
import type { Place } from "../../address/place";
import type { RunOverview } from "../../api/schema";

/** What is chosen of one trace means nothing in another. */
const OTHER_TRACE = { trace: null, step: null, sync: null, mark: null, event: null } as const;

type Where = Pick<RunOverview, "workers" | "start_us">;

/** The timeline of a rank (its place among the ranks) at a time of its own trace. */
export function timelineOf(
  run: Where,
  place: number,
  startUs: number,
  durationUs: number,
): Partial<Place> {
  const trace = { start_us: run.start_us[place] ?? 0 };
  const worker = run.workers[place] ?? null;
  return { ...OTHER_TRACE, ...inTimeline({ trace }, startUs, durationUs), worker };
}

/** A module of a rank's trace. */
export function moduleOf(run: Where, place: number, module: string): Partial<Place> {
  const worker = run.workers[place] ?? null;
  return { ...OTHER_TRACE, ...modulePlace(module), worker };
}

/** The findings of a rule in a rank's trace. */
export function findingsOf(run: Where, place: number, rule: string): Partial<Place> {
  const worker = run.workers[place] ?? null;
  return {
    ...OTHER_TRACE,
    ...findingPlace(null),
    worker,
    rule,
    severity: null,
    confidence: null,
    about: null,
  };
}
