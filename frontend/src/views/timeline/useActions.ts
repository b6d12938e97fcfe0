import { useMemo } from "react";

import type { WireSpot } from "../../api/timeline";
import type { Block, Direction } from "../../model/timeline/hits";
import { spanText, type Span } from "../../model/timeline/span";
import { hitAfter } from "../../model/timeline/stepping";
import { around, lookAt, zoomAt } from "../../model/timeline/viewport";
import { usePlace } from "../state/context";
import type { Chart } from "./chart/chart";
import type { Hits } from "./useHits";
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
  lookAt: (spot: WireSpot) => void;
  fitBlock: (block: Block) => void;
  fit: () => void;
  whole: () => void;
  zoom: (into: boolean) => void;
  mark: () => void;
  clear: () => void;
  hit: (step: 1 | -1) => void;
  select: (direction: Direction) => void;
}

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
    const look = (of: WireSpot): void => {
      if (chart === null) return;
      const at = spotOf(of);
      expect(String(of.id), at);
      const span = lookAt(chart.shown, at.span, chart.bounds, chart.width);
      shown.go({ event: String(of.id), range: null }, span);
    };
    const fill = (span: Span): void => chart?.show(around(span, FIT_SHARE, chart.bounds), true);
    return {
      pick,
      lookAt: look,
      selectRange: (range) => {
        shown.go({ range, event: null });
      },
      fitBlock: ({ span }) => {
        fill(span);
      },
      fit: () => {
        if (selected === null) chart?.show(chart.bounds, true);
        else fill(selected);
      },
      whole: () => chart?.show(chart.bounds, true),
      zoom: (into) => {
        const factor = into ? ZOOM_STEP : 1 / ZOOM_STEP;
        chart?.show(zoomAt(chart.shown, factor, middleOf(chart.shown), chart.bounds), true);
      },
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
        if (chart === null) return;
        const next = hitAfter(hits.found, place.event, chart.shown, step);
        if (next !== null) look(next);
      },
      select: (direction) => {
        const next = chart?.beside(spot, direction) ?? null;
        if (next !== null) pick(next);
      },
    };
  }, [chart, shown, hits, place, spot, expect]);
}

const middleOf = ({ from, to }: Span): number => (from + to) / 2;

const textsEqual = (a: Span, b: Span): boolean => spanText(a) === spanText(b);
