import { useMemo } from "react";

import type { EventSummary } from "../../api/schema";
import { usePlace } from "../../parts/services";
import { spanText, type Span } from "../../text/span";
import type { Chart } from "./chart/chart";
import type { Block, Direction } from "./data/hits";
import { around, lookAt, zoomAt } from "./data/viewport";
import { hitAfter, type Hits } from "./useHits";
import { spotOf, spotOfBlock, type Selection } from "./useSelection";
import type { Shown } from "./useShown";

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
