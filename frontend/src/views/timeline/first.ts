import type { WireReport } from "../../api/types";
import type { Place } from "../../address/place";
import type { Span } from "../../text/span";
import { around } from "./data/viewport";

/** How much of the width a step takes. */
const SHARE = 0.94;

/**
 * What of the timeline is in view at first: what the address says, else the chosen step, else all.
 * A step that was chosen since the address was written goes before it.
 */
export function firstShown(
  place: Pick<Place, "shown" | "step">,
  report: Pick<WireReport, "steps" | "trace">,
  bounds: Span,
): Span {
  const step = report.steps.find(({ name }) => name === place.step);
  if (step === undefined) return place.shown ?? bounds;
  const from = step.start_us - report.trace.start_us;
  const to = from + step.duration_us;
  if (place.shown !== null && place.shown.from < to && place.shown.to > from) return place.shown;
  return around({ from, to }, SHARE, bounds);
}
