import { useEffect, useRef, type Dispatch, type SetStateAction } from "react";

import { opened, type LaneBox, type Opening } from "./data/lanes";
import type { Chart } from "./chart/chart";
import type { Spot } from "./chart/scene";

/** Open the lane of a newly selected event and scroll to its row; later changes leave it alone. */
export function useReveal(
  chart: Chart | null,
  spot: Spot | null,
  boxes: readonly LaneBox[],
  setOpenings: Dispatch<SetStateAction<ReadonlyMap<string, Opening>>>,
): void {
  const revealed = useRef<string | null>(null);
  const wanted =
    spot === null ? null : [spot.lane, spot.depth, spot.span.from, spot.span.to].join(" ");
  useEffect(() => {
    if (chart === null || wanted === revealed.current) return;
    const box = boxes.find(({ lane }) => lane.id === spot?.lane);
    if (spot !== null && box !== undefined && spot.depth >= box.rows) {
      setOpenings((chosen) => opened(boxes, chosen, spot.lane, spot.depth));
      return;
    }
    revealed.current = wanted;
    if (spot !== null) chart.reveal(spot);
  }, [chart, wanted, spot, boxes, setOpenings]);
}
