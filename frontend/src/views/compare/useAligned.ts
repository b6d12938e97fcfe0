import { useMemo } from "react";

import type { CompareSide } from "../../api/client";
import type { Target } from "../../api/request";
import type { TimelineOverview, TimelineWindow } from "../../api/schema";
import { type Loaded, useLoad, useServices } from "../../parts/services";
import { type Span, timeText } from "../../text/span";
import { type AlignedStep, lanesOf, onlyHost, type SideName } from "./aligned";
import { targetOf } from "./sides";

/** Pixels that are asked for; the picture is scaled to its place. */
const WIDTH = 1200;

/** What a side of the picture is drawn from. */
export interface AlignedSide {
  readonly timeline: TimelineOverview;
  readonly window: TimelineWindow;
}
export type AlignedSides = Readonly<Record<SideName, AlignedSide>>;

interface Asked {
  readonly side: CompareSide;
  readonly step: AlignedStep;
}

/** Both sides' lanes between two times after the starts of their steps. */
export function useAligned(base: Asked | null, other: Asked, span: Span): Loaded<AlignedSides> {
  const { api } = useServices();
  const key = JSON.stringify([base === null ? null : targetOf(base.side), targetOf(other.side)]);
  const loadBoth = useMemo(() => {
    const [before, after] = JSON.parse(key) as [Target | null, Target];
    if (before === null) return null;
    return (signal: AbortSignal) =>
      Promise.all([api.timeline.overview(before, signal), api.timeline.overview(after, signal)]);
  }, [api, key]);
  const overviews = useLoad(loadBoth);
  const ready = overviews.status === "ready" ? overviews.value : null;
  const from = timeText(span.from);
  const to = timeText(span.to);
  const starts = `${base?.step.from ?? 0} ${other.step.from}`;
  const load = useMemo(() => {
    if (ready === null) return null;
    const targets = JSON.parse(key) as [Target, Target];
    const withHost = ready.every(({ lanes }) => onlyHost(lanes));
    const at = starts.split(" ").map(Number);
    return async (signal: AbortSignal): Promise<AlignedSides> => {
      const windows = ready.map((timeline, index) => {
        const target = targets[index] ?? targets[0];
        const start = at[index] ?? 0;
        const lanes = lanesOf(timeline.lanes, withHost).map(({ id }) => id);
        const part = { from: start + Number(from), to: start + Number(to) };
        return api.timeline.window(target, { ...part, width: WIDTH, lanes }, signal);
      });
      const [first, second] = (await Promise.all(windows)) as [TimelineWindow, TimelineWindow];
      return {
        base: { timeline: ready[0], window: first },
        other: { timeline: ready[1], window: second },
      };
    };
  }, [api, key, ready, starts, from, to]);
  const loaded = useLoad(load);
  return overviews.status === "error" ? { ...overviews } : loaded;
}
