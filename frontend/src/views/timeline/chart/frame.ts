import { lengthOf, type Span } from "../../../text/span";

/** The frame around what is in view, and the parts of it that can be dragged. */
export type Grip = "middle" | "from" | "to";

/** What of the frame is at a time: an end where these are far enough apart, its middle, or null. */
export function gripAt(shown: Span, time: number, slack: number): Grip | null {
  const wide = lengthOf(shown) > 3 * slack;
  if (wide && Math.abs(time - shown.from) <= slack) return "from";
  if (wide && Math.abs(time - shown.to) <= slack) return "to";
  return time >= shown.from - slack && time <= shown.to + slack ? "middle" : null;
}

/** Where a part of the frame is. */
export function gripTime(shown: Span, kind: Grip): number {
  return kind === "middle" ? (shown.from + shown.to) / 2 : shown[kind];
}

/** The frame with one of its parts at another time; no longer or shorter where it is moved. */
export function draggedTo(shown: Span, kind: Grip, time: number): Span {
  if (kind === "middle") {
    const half = lengthOf(shown) / 2;
    return { from: time - half, to: time + half };
  }
  const other = kind === "from" ? shown.to : shown.from;
  return { from: Math.min(time, other), to: Math.max(time, other) };
}
