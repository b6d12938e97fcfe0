import type { ReactElement, RefObject } from "react";

import type { TimelineOverview } from "../../api/schema";
import { counted, duration } from "../../text/formats";
import { Tooltip, type HoverSource } from "./Tooltip";
import { LaneLabels } from "./LaneLabels";
import { heightOf } from "./data/lanes";
import type { Arrangement } from "./useArrangement";
import type { ChartRefs } from "./useChart";

interface ChartAreaProps {
  timeline: TimelineOverview;
  refs: ChartRefs;
  /** Says how much is in view. */
  readout: RefObject<HTMLSpanElement | null>;
  arrangement: Arrangement;
  hover: HoverSource;
}

/** Minimap, axis and lanes, with what each lane is at their left. */
export function ChartArea({
  timeline,
  refs,
  readout,
  arrangement,
  hover,
}: ChartAreaProps): ReactElement {
  const { boxes } = arrangement;
  const { lanes, axis, minimap, scroller } = refs;
  return (
    <div className="chart">
      <div className="chart-head">
        <span className="chart-corner">
          <span>{duration(timeline.duration_us)}</span>
          <span className="muted">{counted(timeline.events, "event")}</span>
        </span>
        <canvas ref={minimap} className="chart-minimap" aria-hidden="true" />
        <span className="chart-corner muted" ref={readout} />
        <canvas ref={axis} className="chart-axis" aria-hidden="true" />
      </div>
      <div className="chart-scroller" ref={scroller}>
        <LaneLabels arrangement={arrangement} />
        <div className="chart-lanes" style={{ height: heightOf(boxes) }}>
          <div className="chart-window">
            <canvas
              ref={lanes}
              className="chart-canvas"
              role="application"
              aria-label={`Timeline, ${counted(boxes.length, "lane")}`}
              aria-describedby="timeline-keys timeline-selected"
              tabIndex={0}
            />
            <Tooltip source={hover} meanings={timeline.colours} />
          </div>
        </div>
      </div>
    </div>
  );
}
