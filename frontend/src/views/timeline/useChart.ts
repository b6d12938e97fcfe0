import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import type { ApiError, Target } from "../../api/request";
import type { ReportData, TimelineOverview } from "../../api/schema";
import { usePalette } from "../../components/browser";
import { usePlace, useServices } from "../../parts/services";
import { duration } from "../../text/formats";
import { lengthOf, type Span } from "../../text/span";
import { coloursOf } from "../../theme/colours";
import type { HoverSource } from "./ChartArea";
import type { Opening } from "./address";
import { Chart } from "./chart/chart";
import { followMinimap, followPointer } from "./chart/gestures";
import { inkOf, textsOf } from "./chart/raster";
import type { Decor, Spot } from "./chart/scene";
import { type LaneBox, opened } from "./data/lanes";
import { syncMarksOf } from "./data/syncMarks";
import { TileStore } from "./data/tiles";
import type { Actions, Shown } from "./useActions";
import type { Hits } from "./useHits";
import { type Selection, spotOf } from "./useSelection";

export interface ChartRefs {
  lanes: RefObject<HTMLCanvasElement | null>;
  axis: RefObject<HTMLCanvasElement | null>;
  minimap: RefObject<HTMLCanvasElement | null>;
  scroller: RefObject<HTMLDivElement | null>;
}

interface ChartParts {
  target: Target;
  timeline: TimelineOverview;
  bounds: Span;
  /** What is in view at first. */
  first: Span;
  decor: Decor;
}

/** Lanes that are asked for by themselves, as the first request for them takes long; all others. */
function lanesApart({ lanes }: TimelineOverview): { lanes?: string[] }[] {
  const late = lanes.filter(({ events, note }) => events === null && note === null);
  return late.length === 0 ? [{}] : [{}, { lanes: late.map(({ id }) => id) }];
}

/** The chart on its canvases, notified of every change of what is drawn on it; null until it is there. */
export function useChart(
  { lanes, axis, minimap, scroller }: ChartRefs,
  { target, timeline, bounds, first, decor }: ChartParts,
): { chart: Chart | null; error: ApiError | null } {
  const { api } = useServices();
  const [chart, setChart] = useState<Chart | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const begin = useRef({ first, decor });
  useLayoutEffect(() => {
    const [onLanes, onAxis, onMinimap] = [lanes.current, axis.current, minimap.current];
    const around = scroller.current;
    if (onLanes === null || onAxis === null || onMinimap === null || around === null) return;
    const canvases = { lanes: onLanes, axis: onAxis, minimap: onMinimap, scroller: around };
    const stores = lanesApart(timeline).map(
      (lanes) =>
        new TileStore(
          (query, signal) => api.timeline.window(target, { ...query, ...lanes }, signal),
          bounds,
          () => {
            setError(stores.find((tiles) => tiles.error !== null)?.error ?? null);
            made.invalidate();
          },
        ),
    );
    const { current } = begin;
    const made = new Chart(canvases, timeline, stores, bounds, current.decor, current.first);
    const observer = new ResizeObserver(made.invalidate);
    observer.observe(around);
    around.addEventListener("scroll", made.invalidate, { passive: true });
    const stops = [
      followPointer(onLanes, around, made),
      followPointer(onAxis, around, made),
      followMinimap(onMinimap, made),
    ];
    setChart(made);
    return () => {
      observer.disconnect();
      around.removeEventListener("scroll", made.invalidate);
      for (const stop of stops) stop();
      made.close();
      for (const tiles of stores) tiles.close();
      setChart(null);
    };
  }, [api, target, timeline, bounds, lanes, axis, minimap, scroller]);
  useEffect(() => {
    chart?.decorate(decor);
  }, [chart, decor]);
  return { chart, error };
}

/** Answer what is done on the chart; what comes with every picture goes past React. */
export function useChartEvents(
  chart: Chart | null,
  actions: Actions,
  shown: Shown,
  hover: HoverSource,
  readout: RefObject<HTMLElement | null>,
): void {
  useEffect(() => {
    chart?.listen({
      onFrame: (span) => {
        const text = `${duration(lengthOf(span))} in view`;
        const { current } = readout;
        if (current !== null && current.textContent !== text) current.textContent = text;
      },
      onSettled: shown.onSettled,
      onHover: (block, x, y) => {
        chart.hover(block);
        hover.say(block === null ? null : { block, x, y });
      },
      onPick: actions.pick,
      onOpen: actions.fitBlock,
      onRange: (range, done) => {
        if (done) actions.selectRange(range);
        else chart.decorate({ range });
      },
    });
  }, [chart, actions, shown, hover, readout]);
}

/** Open the lane of a newly selected event and scroll to its row; later changes leave it alone. */
export function useReveal(
  chart: Chart | null,
  spot: Spot | null,
  boxes: readonly LaneBox[],
  openings: ReadonlyMap<string, Opening>,
  setOpenings: (openings: ReadonlyMap<string, Opening>) => void,
): void {
  const revealed = useRef<string | null>(null);
  const wanted =
    spot === null ? null : [spot.lane, spot.depth, spot.span.from, spot.span.to].join(" ");
  useEffect(() => {
    if (chart === null || wanted === revealed.current) return;
    const box = boxes.find(({ lane }) => lane.id === spot?.lane);
    if (spot !== null && box !== undefined && spot.depth >= box.rows) {
      setOpenings(opened(boxes, openings, spot.lane, spot.depth));
      return;
    }
    revealed.current = wanted;
    if (spot !== null) chart.reveal(spot);
  }, [chart, wanted, spot, boxes, openings, setOpenings]);
}

/** What is drawn upon the trace, the same object while nothing of it changes. */
export function useDecor(
  report: ReportData,
  timeline: TimelineOverview,
  boxes: readonly LaneBox[],
  { spot, links }: Selection,
  { found, density }: Hits,
): Decor {
  const [{ range, mark, colours: by }] = usePlace();
  const byName = by === "name";
  const palette = usePalette();
  const meanings = timeline.colours;
  const ink = useMemo(() => inkOf(meanings, palette), [meanings, palette]);
  const colours = useMemo(() => coloursOf(meanings, palette), [meanings, palette]);
  const texts = useMemo(() => textsOf(ink, palette), [ink, palette]);
  const syncs = useMemo(() => syncMarksOf(report), [report]);
  const hits = useMemo(() => found.map(spotOf), [found]);
  return useMemo(
    () => ({
      boxes,
      palette,
      ink,
      colours,
      texts,
      syncs,
      selected: spot,
      links,
      hits,
      density,
      range,
      mark,
      byName,
    }),
    [boxes, palette, ink, colours, texts, syncs, spot, links, hits, density, range, mark, byName],
  );
}
