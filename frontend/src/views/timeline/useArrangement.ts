import { useCallback, useMemo } from "react";

import type { TimelineOverview } from "../../api/schema";
import { usePlace } from "../../parts/services";
import type { LanesPlace, Opening } from "./address";
import { layoutLanes, moved, type LaneBox } from "./data/lanes";

export interface Arrangement {
  readonly boxes: readonly LaneBox[];
  setOpenings: (openings: ReadonlyMap<string, Opening>) => void;
  open: (lane: string, opening: Opening) => void;
  pin: (lane: string, pinned: boolean) => void;
  move: (lane: string, by: 1 | -1) => void;
  /** As the server lists them, each open as at first. */
  reset: () => void;
  readonly filter: string;
  show: (filter: string) => void;
}

/** Which lanes are pinned, open and where, as the address says. */
export function useArrangement(timeline: TimelineOverview): Arrangement {
  const [{ lanes }, go] = usePlace();
  const boxes = useMemo(() => layoutLanes(timeline.lanes, lanes), [timeline, lanes]);
  const change = useCallback(
    (part: Partial<LanesPlace>): void => go({ lanes: { ...lanes, ...part } }, true),
    [go, lanes],
  );
  return useMemo(
    () => ({
      boxes,
      setOpenings: (openings) => change({ openings }),
      open: (lane, opening) => change({ openings: new Map(lanes.openings).set(lane, opening) }),
      pin: (lane, pinned) => {
        const others = lanes.pinned.filter((id) => id !== lane);
        change({ pinned: pinned ? [...others, lane] : others });
      },
      move: (lane, by) => {
        const all = layoutLanes(timeline.lanes, { ...lanes, filter: "" });
        change({ order: moved(all, lane, by) });
      },
      reset: () => change({ pinned: [], order: null, openings: new Map(), filter: "" }),
      filter: lanes.filter,
      show: (filter) => change({ filter }),
    }),
    [boxes, lanes, change, timeline],
  );
}
