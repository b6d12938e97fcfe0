import { useCallback, useEffect, useRef } from "react";

import type { Place } from "../../address/place";
import type { ReportData } from "../../api/schema";
import { usePlace } from "../../parts/services";
import { spanText, type Span } from "../../text/span";
import type { Chart } from "./chart/chart";
import { around, sameSpan } from "./data/viewport";

export interface Shown {
  /** Write down where the chart stands; no step in the history. */
  onSettled: (span: Span) => void;
  /** Go to another place, a step in the history, with another part in view where `span` is given. */
  go: (change: Partial<Place>, span?: Span) => void;
}

/** What is in view and what the address says is: each follows the other. */
export function useShown(chart: Chart | null, bounds: Span): Shown {
  const [place, goTo] = usePlace();
  const written = useRef(textOf(place.shown));
  const asked = textOf(place.shown);
  useEffect(() => {
    if (chart === null || asked === written.current) return;
    written.current = asked;
    chart.show(place.shown ?? bounds, true);
    // The text stands for the span, which is a new object whenever the address changes.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [chart, asked, bounds]);
  const placeOf = useCallback(
    (span: Span): Span | null => (sameSpan(span, bounds, chart?.width ?? 1) ? null : span),
    [chart, bounds],
  );
  const onSettled = useCallback(
    (span: Span) => {
      const shown = placeOf(span);
      if (textOf(shown) === written.current) return;
      written.current = textOf(shown);
      goTo({ shown }, true);
    },
    [goTo, placeOf],
  );
  const go = useCallback(
    (change: Partial<Place>, span?: Span) => {
      const shown = chart === null ? place.shown : placeOf(span ?? chart.shown);
      written.current = textOf(shown);
      if (span !== undefined) chart?.show(span, true);
      goTo({ ...change, shown });
    },
    [chart, goTo, place.shown, placeOf],
  );
  return { onSettled, go };
}

function textOf(span: Span | null): string {
  return span === null ? "" : spanText(span);
}

/** How much of the width a step takes. */
const SHARE = 0.94;

/**
 * What of the timeline is in view at first: what the address says, else the chosen step, else all.
 * A step that was chosen since the address was written goes before it.
 */
export function firstShown(
  place: Pick<Place, "shown" | "step">,
  report: Pick<ReportData, "steps" | "trace">,
  bounds: Span,
): Span {
  const step = report.steps.find(({ name }) => name === place.step);
  if (step === undefined) return place.shown ?? bounds;
  const from = step.start_us - report.trace.start_us;
  const to = from + step.duration_us;
  if (place.shown !== null && place.shown.from < to && place.shown.to > from) return place.shown;
  return around({ from, to }, SHARE, bounds);
}
