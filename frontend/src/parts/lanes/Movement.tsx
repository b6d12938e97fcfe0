import type { ReactElement } from "react";

import { duration } from "../../text/formats";
import { lengthOf, type Span } from "../../text/span";

/** The closest look, in microseconds. */
const LEAST_US = 1;

/** The part of `bounds` next to a span that may be longer, shorter or outside. */
export function within({ from, to }: Span, bounds: Span): Span {
  const length = Math.min(Math.max(to - from, LEAST_US), lengthOf(bounds));
  const start = Math.min(Math.max(from, bounds.from), bounds.to - length);
  return { from: start, to: start + length };
}

/** `factor` times as long, around a time that stays where it is. */
export function zoomed(span: Span, factor: number, at = (span.from + span.to) / 2): Span {
  return { from: at - (at - span.from) * factor, to: at + (span.to - at) * factor };
}

interface MovementProps {
  span: Span;
  bounds: Span;
  /** What the button says that shows all of it. */
  all: string;
  onSpan: (span: Span | null) => void;
}

/** What is in view, and buttons that move and zoom it. */
export function Movement({ span, bounds, all, onSpan }: MovementProps): ReactElement {
  const length = lengthOf(span);
  const moved = (share: number) => () =>
    onSpan(within({ from: span.from + share * length, to: span.to + share * length }, bounds));
  const whole = length >= lengthOf(bounds);
  return (
    <div className="group lanes-movement">
      <span className="muted lanes-in-view">{duration(length)} in view</span>
      <button type="button" disabled={span.from <= bounds.from} onClick={moved(-0.5)}>
        Earlier
      </button>
      <button type="button" disabled={span.to >= bounds.to} onClick={moved(0.5)}>
        Later
      </button>
      <button type="button" onClick={() => onSpan(within(zoomed(span, 0.5), bounds))}>
        Zoom in
      </button>
      <button
        type="button"
        disabled={whole}
        onClick={() => onSpan(within(zoomed(span, 2), bounds))}
      >
        Zoom out
      </button>
      <button type="button" disabled={whole} onClick={() => onSpan(null)}>
        {all}
      </button>
    </div>
  );
}
