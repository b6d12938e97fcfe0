import { useEffect, type RefObject } from "react";

import { duration } from "../../text/formats";
import { lengthOf } from "../../text/span";
import type { Chart } from "./chart/chart";
import type { HoverSource } from "./Tooltip";
import type { Actions } from "./useActions";
import type { Shown } from "./useShown";

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
