import { lengthOf, type Span } from "../../../text/span";
import { panBy, zoomAt } from "../data/viewport";
import type { Chart } from "./chart";

/** A pointer that moved less than this has not moved. */
const STILL_PX = 4;
const WHEEL_ZOOM = 0.0022;

interface Point {
  x: number;
  y: number;
}

/** What mouse, pen and fingers do on a canvas; returns what stops it. */
export function followPointer(
  canvas: HTMLCanvasElement,
  scroller: HTMLElement,
  chart: Chart,
): () => void {
  const gestures = new Gestures(canvas, scroller, chart);
  const stop = new AbortController();
  const { signal } = stop;
  canvas.addEventListener("pointerdown", gestures.down, { signal });
  canvas.addEventListener("pointermove", gestures.move, { signal });
  canvas.addEventListener("pointerup", gestures.up, { signal });
  canvas.addEventListener("pointercancel", gestures.cancel, { signal });
  canvas.addEventListener("pointerleave", gestures.leave, { signal });
  canvas.addEventListener("dblclick", gestures.open, { signal });
  canvas.addEventListener("wheel", gestures.wheel, { signal, passive: false });
  return () => stop.abort();
}

class Gestures {
  private readonly pointers = new Map<number, Point>();
  private doing: "nothing" | "pan" | "range" | "touch" = "nothing";
  private begun: Point = { x: 0, y: 0 };
  private beginTime = 0;
  private moved = false;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly chart: Chart,
  ) {}

  readonly down = (event: PointerEvent): void => {
    if (event.button > 1) return;
    if (event.button === 1) event.preventDefault();
    const point = this.pointOf(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, point);
    if (this.pointers.size > 1) this.moved = true;
    else [this.begun, this.beginTime, this.moved] = [point, this.chart.timeAt(point.x), false];
    const pan = event.shiftKey || event.button === 1;
    this.doing = event.pointerType === "touch" ? "touch" : pan ? "pan" : "range";
    this.chart.listeners.onHover?.(null, 0, 0);
  };

  readonly move = (event: PointerEvent): void => {
    const point = this.pointOf(event);
    const before = this.pointers.get(event.pointerId);
    this.chart.point(point.x);
    if (before === undefined) {
      this.chart.listeners.onHover?.(this.chart.blockAt(point.x, point.y), point.x, point.y);
      return;
    }
    const way = Math.hypot(point.x - this.begun.x, point.y - this.begun.y);
    if (!this.moved && way < STILL_PX) return;
    this.moved = true;
    if (this.doing === "range") this.chart.listeners.onRange?.(this.rangeTo(point), false);
    else this.drag(event.pointerId, before, point);
    this.pointers.set(event.pointerId, point);
  };

  readonly up = (event: PointerEvent): void => {
    if (!this.pointers.delete(event.pointerId)) return;
    const point = this.pointOf(event);
    if (!this.moved) this.chart.listeners.onPick?.(this.chart.blockAt(point.x, point.y));
    else if (this.doing === "range") this.chart.listeners.onRange?.(this.rangeTo(point), true);
    if (this.pointers.size === 0) this.doing = "nothing";
  };

  readonly cancel = (event: PointerEvent): void => {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size === 0) this.doing = "nothing";
  };

  readonly leave = (): void => {
    this.chart.point(null);
    if (this.pointers.size === 0) this.chart.listeners.onHover?.(null, 0, 0);
  };

  readonly open = (event: MouseEvent): void => {
    const { x, y } = this.pointOf(event);
    const block = this.chart.blockAt(x, y);
    if (block !== null) this.chart.listeners.onOpen?.(block);
  };

  readonly wheel = (event: WheelEvent): void => {
    const { bounds, shown, width } = this.chart;
    // Lines and pages as pixels.
    const unit = [1, 16, 200][event.deltaMode] ?? 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const { x } = this.pointOf(event);
      this.chart.show(zoomAt(shown, Math.exp(dy * WHEEL_ZOOM), this.chart.timeAt(x), bounds));
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      event.preventDefault();
      this.chart.show(panBy(shown, (dx === 0 ? dy : dx) / Math.max(width, 1), bounds));
    }
  };

  /** Move what is in view with the pointer, or with two fingers spread it too. */
  private drag(id: number, before: Point, now: Point): void {
    const { bounds, shown, width } = this.chart;
    const [other] = [...this.pointers].filter(([key]) => key !== id).map(([, point]) => point);
    if (other === undefined) {
      this.chart.show(panBy(shown, (before.x - now.x) / Math.max(width, 1), bounds));
      if (this.doing === "touch") this.scroller.scrollTop -= now.y - before.y;
      return;
    }
    const distance = (point: Point): number => Math.max(Math.abs(point.x - other.x), 20);
    this.chart.show(
      zoomAt(shown, distance(before) / distance(now), this.chart.timeAt(other.x), bounds),
    );
  }

  private rangeTo({ x }: Point): Span {
    const time = this.chart.timeAt(Math.min(Math.max(x, 0), this.chart.width));
    const least = lengthOf(this.chart.shown) / Math.max(this.chart.width, 1);
    const from = Math.min(time, this.beginTime);
    return { from, to: Math.max(time, this.beginTime, from + least) };
  }

  private pointOf(event: MouseEvent): Point {
    const { left, top } = this.canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }
}

/** How near to the end of the frame one has to point to move that end alone. */
const EDGE_PX = 6;

/** Dragging the frame of the minimap, its ends, or to a place outside it; returns what stops it. */
export function followMinimap(canvas: HTMLCanvasElement, chart: Chart): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  let grip: { kind: Grip; offset: number } | null = null;
  const timeOf = (event: PointerEvent): number => {
    const { left, width } = canvas.getBoundingClientRect();
    const share = (event.clientX - left) / Math.max(width, 1);
    return chart.bounds.from + share * lengthOf(chart.bounds);
  };
  const drag = (event: PointerEvent): void => {
    if (grip !== null) chart.show(draggedTo(chart.shown, grip.kind, timeOf(event) - grip.offset));
  };
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      const time = timeOf(event);
      const pixel = lengthOf(chart.bounds) / Math.max(chart.width, 1);
      const kind = gripAt(chart.shown, time, EDGE_PX * pixel);
      canvas.setPointerCapture(event.pointerId);
      grip = {
        kind: kind ?? "middle",
        offset: kind === null ? 0 : time - gripTime(chart.shown, kind),
      };
      drag(event);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const pixel = lengthOf(chart.bounds) / Math.max(chart.width, 1);
      const kind = grip?.kind ?? gripAt(chart.shown, timeOf(event), EDGE_PX * pixel);
      canvas.style.cursor = kind === null ? "pointer" : kind === "middle" ? "grab" : "ew-resize";
      drag(event);
    },
    { signal },
  );
  const release = (): void => {
    grip = null;
  };
  canvas.addEventListener("pointerup", release, { signal });
  canvas.addEventListener("pointercancel", release, { signal });
  return () => stop.abort();
}

/** The frame around what is in view, and the parts of it that can be dragged. */
type Grip = "middle" | "from" | "to";

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
