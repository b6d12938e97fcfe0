import type { ReactElement } from "react";

import { bytes, duration } from "../../text/formats";
import { SIDE, ticksTo } from "./curve";

export function ByteTicks({ highest }: { highest: number }): ReactElement {
  return (
    <ol className="memory-bytes muted" aria-hidden="true">
      {ticksTo(0, highest, 4).map(([value, at]) => (
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

export function TimeTicks({ from, to }: { from: number; to: number }): ReactElement {
  return (
    <ol className="memory-times muted" aria-hidden="true">
      {ticksTo(from, to, 6).map(([value, at]) => (
        <li key={value} style={{ insetInlineStart: `${at * 100}%` }}>
          {duration(value)}
        </li>
      ))}
    </ol>
  );
}
