import { useCallback, useEffect, useRef } from "react";

import type { Place } from "../../address/place";
import { spanText, type Span } from "../../text/span";
import { sameSpan } from "./data/viewport";
import { usePlace } from "../../parts/context";
import type { Chart } from "./chart/chart";

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
