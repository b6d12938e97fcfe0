import { type ReactElement, type RefObject, useEffect, useState } from "react";

import type { TimelineOverview } from "../../api/schema";
import { Name } from "../../components/Name";
import { count, counted, duration } from "../../text/formats";
import { lengthOf } from "../../text/span";
import { LaneLabels } from "./LaneLabels";
import type { Block } from "./data/hits";
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

interface Hovered {
  block: Block;
  x: number;
  y: number;
}

/** Notifies one listener of what is pointed at, without drawing anything else again. */
export class HoverSource {
  private listener: ((hovered: Hovered | null) => void) | null = null;

  readonly listen = (listener: ((hovered: Hovered | null) => void) | null): void => {
    this.listener = listener;
  };

  readonly say = (hovered: Hovered | null): void => {
    this.listener?.(hovered);
  };
}

/** What is pointed at; what is selected has the same in text for everyone. */
function Tooltip({
  source,
  meanings,
}: {
  source: HoverSource;
  meanings: readonly string[];
}): ReactElement | null {
  const [hovered, setHovered] = useState<Hovered | null>(null);
  useEffect(() => {
    source.listen(setHovered);
    return () => source.listen(null);
  }, [source]);
  if (hovered === null) return null;
  const { block, x, y } = hovered;
  const meaning = meanings[block.colour];
  return (
    <div className="chart-tooltip" style={{ left: x, top: y }} aria-hidden="true">
      <strong>
        {block.name === null ? (
          counted(block.count, "event")
        ) : (
          <Name text={block.name} className="wrap" />
        )}
      </strong>
      <span>
        {duration(lengthOf(block.span))}
        {meaning !== undefined && meaning !== "other" && (
          <span className="muted"> · {meaning}</span>
        )}
      </span>
      {block.count > 1 && (
        <span className="muted">
          {count(block.count)} events{block.name === null ? " of several names" : ""}, too short to
          be drawn apart: zoom in
        </span>
      )}
    </div>
  );
}
