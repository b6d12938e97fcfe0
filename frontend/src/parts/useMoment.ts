import { useMemo } from "react";

import type { Target } from "../api/client";
import { laneIds, momentLanes, momentOf, momentSpan, type Moment } from "../report/moment";
import type { SyncRow } from "../report/syncs";
import { useServices } from "./context";
import { useLoad, type Loaded } from "./useLoad";

/** Finer than the picture is wide, for screens with several dots to a pixel. */
const WIDTH = 640;

/** What host and device did around a wait, from the timeline of its trace. */
export function useMoment(target: Target, row: SyncRow): Loaded<Moment> {
  const { api } = useServices();
  const { run, worker, trace } = target;
  const whole = useMemo((): Target => ({ run, worker, trace, step: null }), [run, worker, trace]);
  const loadTimeline = useMemo(
    () => (signal: AbortSignal) => api.timeline.overview(whole, signal),
    [api, whole],
  );
  const timeline = useLoad(loadTimeline);
  const overview = timeline.status === "ready" ? timeline.value : null;
  const loadMoment = useMemo(() => {
    if (overview === null) return null;
    const lanes = momentLanes(overview, row.sync);
    const query = { ...momentSpan(row), width: WIDTH, lanes: laneIds(lanes) };
    return async (signal: AbortSignal) =>
      momentOf(row, overview, lanes, await api.timeline.window(whole, query, signal));
  }, [api, whole, overview, row]);
  const moment = useLoad(loadMoment);
  if (timeline.status === "error") return { ...timeline };
  return moment;
}
