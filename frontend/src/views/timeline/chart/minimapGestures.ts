import { draggedTo, gripAt, gripTime, type Grip } from "./frame";
import { lengthOf } from "../../../text/span";
import type { Chart } from "./chart";

/** How near to the end of the frame one has to point to move that end alone. */
const EDGE_PX = 6;

/** Dragging the frame of the minimap, its ends, or to a place beside it; returns what stops it. */
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
  return () => {
    stop.abort();
  };
}
