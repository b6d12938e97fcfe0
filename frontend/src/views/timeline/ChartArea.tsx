import { memo, type ReactElement, type RefObject } from "react";

import type { WireTimeline } from "../../api/types";
import { Name } from "../../components/Name";
import { counted, duration } from "../../text/formats";
import { Tooltip, type HoverSource } from "./Tooltip";
import { heightOf, nextOpening, openingsOf, type LaneBox, type Opening } from "./data/lanes";
import type { ChartRefs } from "./useChart";

interface ChartAreaProps {
  timeline: WireTimeline;
  refs: ChartRefs;
  /** Says how much is in view. */
  readout: RefObject<HTMLSpanElement | null>;
  boxes: readonly LaneBox[];
  hover: HoverSource;
  onOpening: (lane: string, opening: Opening) => void;
}

/** Minimap, axis and lanes, with what each lane is at their left. */
export function ChartArea({
  timeline,
  refs,
  readout,
  boxes,
  hover,
  onOpening,
}: ChartAreaProps): ReactElement {
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
        <LaneLabels boxes={boxes} onOpening={onOpening} />
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

interface LaneLabelsProps {
  boxes: readonly LaneBox[];
  onOpening: (lane: string, opening: Opening) => void;
}

/** What each lane is, and how many of its rows are on show. */
const LaneLabels = memo(function LaneLabels({ boxes, onOpening }: LaneLabelsProps): ReactElement {
  return (
    <ul className="lane-labels" aria-label="Lanes">
      {boxes.map((box) => (
        <li key={box.lane.id} style={{ height: box.height }}>
          <Label box={box} onOpening={onOpening} />
        </li>
      ))}
    </ul>
  );
});

function Label({
  box,
  onOpening,
}: {
  box: LaneBox;
  onOpening: LaneLabelsProps["onOpening"];
}): ReactElement {
  const { lane, opening, rows } = box;
  const [title, more] =
    lane.subtitle === "" ? [lane.group, lane.title] : [lane.title, lane.subtitle];
  const texts = (
    <>
      <Name text={title === "" ? lane.title : title} className="lane-title" />
      <Name text={more} className="lane-more" />
    </>
  );
  const tooltip = counted(lane.events, lane.kind === "queue" ? "point" : "event");
  if (openingsOf(lane).length < 2) {
    return (
      <span className="lane-label" title={tooltip}>
        {texts}
      </span>
    );
  }
  return (
    <button
      type="button"
      className="lane-label"
      title={tooltip}
      aria-expanded={opening !== "folded"}
      onClick={() => {
        onOpening(lane.id, nextOpening(lane, opening));
      }}
    >
      {texts}
      <span className="lane-rows">
        {opening === "folded" ? "▸" : "▾"} {rows < lane.depth && `${rows} of `}
        {counted(lane.depth, "row")}
      </span>
    </button>
  );
}
