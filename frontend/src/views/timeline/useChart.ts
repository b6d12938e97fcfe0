import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

import type { ApiError, Target } from "../../api/client";
import type { WireTimeline } from "../../api/timeline";
import type { Span } from "../../text/span";
import { useServices } from "../../parts/context";
import { Chart } from "./chart/chart";
import { followPointer } from "./chart/gestures";
import { followMinimap } from "./chart/minimapGestures";
import type { Decor } from "./chart/scene";
import { TileStore } from "./data/tileStore";

export interface ChartRefs {
  lanes: RefObject<HTMLCanvasElement | null>;
  axis: RefObject<HTMLCanvasElement | null>;
  minimap: RefObject<HTMLCanvasElement | null>;
  scroller: RefObject<HTMLDivElement | null>;
}

interface ChartParts {
  target: Target;
  timeline: WireTimeline;
  bounds: Span;
  /** What is in view at first. */
  first: Span;
  decor: Decor;
}

/** The chart on its canvases, told of every change of what is drawn on it; null until it is there. */
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
    const tiles = new TileStore(
      (query, signal) => api.timeline.window(target, query, signal),
      bounds,
      () => {
        setError(tiles.error);
        made.invalidate();
      },
    );
    const { current } = begin;
    const made = new Chart(canvases, timeline, tiles, bounds, current.decor, current.first);
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
      tiles.close();
      setChart(null);
    };
  }, [api, target, timeline, bounds, lanes, axis, minimap, scroller]);
  useEffect(() => {
    chart?.decorate(decor);
  }, [chart, decor]);
  return { chart, error };
}
