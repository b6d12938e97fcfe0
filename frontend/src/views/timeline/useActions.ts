import { useCallback, useEffect, useMemo, useRef } from "react";

import type { Place } from "../../address/place";
import type { EventSummary, ReportData } from "../../api/schema";
import { usePlace } from "../../parts/services";
import { type Span, spanText } from "../../text/span";
import type { Chart } from "./chart/chart";
import type { Block, Direction } from "./data/hits";
import { around, lookAt, sameSpan, zoomAt } from "./data/viewport";
import { hitAfter, type Hits } from "./useHits";
import { type Selection, spotOf, spotOfBlock } from "./useSelection";

/** How much of the width a thing takes that was asked to fill it. */
const FIT_SHARE = 0.8;
const ZOOM_STEP = 0.5;

export interface Actions {
  /** Select what was pointed at; null selects nothing. */
  pick: (block: Block | null) => void;
  selectRange: (range: Span) => void;
  /** Select an event that may be out of view. */
  lookAt: (spot: EventSummary) => void;
  fitBlock: (block: Block) => void;
  fit: () => void;
  whole: () => void;
  zoom: (into: boolean) => void;
  mark: () => void;
  clear: () => void;
  hit: (step: 1 | -1) => void;
  select: (direction: Direction) => void;
}

type Movement = Pick<Actions, "fitBlock" | "fit" | "whole" | "zoom">;

/** What one can do on the timeline, by whatever means. */
export function useActions(
  chart: Chart | null,
  shown: Shown,
  selection: Selection,
  hits: Hits,
): Actions {
  const [place] = usePlace();
  const { spot, expect } = selection;
  return useMemo(() => {
    const selected = spot?.span ?? place.range;
    const pick = (block: Block | null): void => {
      if (block?.event != null) {
        expect(String(block.event), spotOfBlock(block));
        shown.go({ event: String(block.event), range: null });
      } else if (block !== null) {
        shown.go({ event: null, range: block.span });
      } else if (place.event !== null || place.range !== null) {
        shown.go({ event: null, range: null });
      }
    };
    const look = (of: EventSummary | null): void => {
      if (chart === null || of === null) return;
      const at = spotOf(of);
      expect(String(of.id), at);
      const span = lookAt(chart.shown, at.span, chart.bounds, chart.width);
      shown.go({ event: String(of.id), range: null }, span);
    };
    return {
      ...movement(chart, selected),
      pick,
      lookAt: look,
      selectRange: (range) => shown.go({ range, event: null }),
      mark: () => {
        const same = place.mark !== null && selected !== null && textsEqual(place.mark, selected);
        if (selected !== null || place.mark !== null) shown.go({ mark: same ? null : selected });
      },
      clear: () => {
        if (place.event !== null || place.range !== null) shown.go({ event: null, range: null });
        else if (place.search !== "") shown.go({ search: "" });
        else if (place.mark !== null) shown.go({ mark: null });
      },
      hit: (step) => {
        if (chart !== null) void nextHit(hits, place.event, chart.shown, step).then(look);
      },
      select: (direction) => {
        const next = chart?.nextTo(spot, direction) ?? null;
        if (next !== null) pick(next);
      },
    };
  }, [chart, shown, hits, place, spot, expect]);
}

function movement(chart: Chart | null, selected: Span | null): Movement {
  const fill = (span: Span): void => chart?.show(around(span, FIT_SHARE, chart.bounds), true);
  const whole = (): void => chart?.show(chart.bounds, true);
  return {
    whole,
    fitBlock: ({ span }) => fill(span),
    fit: () => {
      if (selected === null) whole();
      else fill(selected);
    },
    zoom: (into) => {
      const factor = into ? ZOOM_STEP : 1 / ZOOM_STEP;
      chart?.show(zoomAt(chart.shown, factor, middleOf(chart.shown), chart.bounds), true);
    },
  };
}

/** The hit to go to; after the last that is known the server is asked for those that follow. */
async function nextHit(
  hits: Hits,
  event: string | null,
  shown: Span,
  step: 1 | -1,
): Promise<EventSummary | null> {
  const { found, total } = hits;
  const known = hitAfter(found, event, shown, step);
  const isLast = String(found.at(-1)?.id) === event;
  if (step === -1 || !isLast || found.length >= (total ?? 0)) return known;
  // Where those that follow cannot be had it goes round.
  return hits.more().then(
    (later) => later ?? known,
    () => known,
  );
}

const middleOf = ({ from, to }: Span): number => (from + to) / 2;

const textsEqual = (a: Span, b: Span): boolean => spanText(a) === spanText(b);

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
