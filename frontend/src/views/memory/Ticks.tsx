import type { ReactElement } from "react";

import type { MemoryCurve } from "../../api/schema";
import { bytes, duration } from "../../text/formats";
import { SIDE, ticksTo } from "./curve";

/** Above it a label would be over what says how high the chart is. */
const TOP = 0.95;
/** Further right a label has no room. */
const RIGHT = 0.9;

export function ByteTicks({ highest }: { highest: number }): ReactElement {
  return (
    <ol className="memory-bytes muted" aria-hidden="true">
      {ticksTo(0, highest, 4)
        .filter(([, at]) => at < TOP)
        .map(([value, at]) => (
          <li key={value} style={{ bottom: `${at * 100}%` }}>
            {bytes(value)}
          </li>
        ))}
    </ol>
  );
}

/** Lines across the chart, at the ticks of the bytes. */
export function ByteLines({ highest }: { highest: number }): ReactElement {
  return (
    <g>
      {ticksTo(0, highest, 4).map(([value, y]) => (
        <line
          key={value}
          className="memory-step"
          x1={0}
          x2={SIDE}
          y1={SIDE * (1 - y)}
          y2={SIDE * (1 - y)}
        />
      ))}
    </g>
  );
}

interface TimeTicksProps {
  curve: MemoryCurve;
  /** Of the trace, on its own clock. */
  begin: number;
}

/** Times that are round on the timeline's clock. */
export function TimeTicks({ curve, begin }: TimeTicksProps): ReactElement {
  const ticks = ticksTo(curve.start_us - begin, curve.end_us - begin, 6).filter(
    ([, at]) => at < RIGHT,
  );
  return (
    <ol className="memory-times muted" aria-hidden="true">
      {ticks.map(([value, at]) => (
        <li key={value} style={{ insetInlineStart: `${at * 100}%` }}>
          {duration(value)}
        </li>
      ))}
    </ol>
  );
}
