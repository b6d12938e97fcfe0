import { type ReactElement, useEffect, useRef } from "react";

import type { StepMatrix } from "../../api/schema";
import { usePalette } from "../../components/browser";
import { bytesOf, type Palette } from "../../theme/colours";
import type { RankQuantity } from "./address";
import { type Cell, folded, pixelsOf, type Scale } from "./heat";

/** Cells of this size, in pixels, have a gap between them. */
const GAP_FROM_PX = 7;

export interface CellsProps {
  steps: StepMatrix;
  heat: RankQuantity;
  scale: Scale;
  colour: keyof Palette;
  width: number;
  rowPx: number;
}

/** The colours: drawn again only where values, size or mode change. */
export function Cells({ steps, heat, scale, colour, width, rowPx }: CellsProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = usePalette();
  const values = steps.values[heat];
  useEffect(() => {
    const context = canvas.current?.getContext("2d") ?? null;
    if (context === null || values === undefined || width === 0) return;
    const density = window.devicePixelRatio;
    const size = { width: Math.round(width * density), height: values.length * rowPx * density };
    Object.assign(context.canvas, size);
    const shown = values.map((row) => folded(row, size.width));
    const columns = shown[0]?.length ?? 0;
    const hue = palette[colour];
    const pixels = pixelsOf(shown, scale, bytesOf(palette.surface), bytesOf(String(hue)));
    const small = new OffscreenCanvas(columns, shown.length);
    small.getContext("2d")?.putImageData(new ImageData(pixels, columns, shown.length), 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, size.width, size.height);
    context.fillStyle = palette.surface;
    const cell = size.width / columns;
    if (cell >= GAP_FROM_PX * density) {
      for (let at = 1; at < columns; at++) {
        context.fillRect(Math.round(at * cell) - 1, 0, 1, size.height);
      }
    }
    if (rowPx >= GAP_FROM_PX) {
      for (let at = 1; at < shown.length; at++) {
        context.fillRect(0, Math.round(at * rowPx * density) - 1, size.width, 1);
      }
    }
  }, [values, width, rowPx, scale, colour, palette]);
  return <canvas ref={canvas} style={{ height: steps.steps.length * rowPx }} aria-hidden="true" />;
}

interface OutlineProps {
  cell: Cell;
  rows: number;
  ranks: number;
  kind: "selected" | "cursor";
}

export function Outline({ cell, rows, ranks, kind }: OutlineProps): ReactElement {
  const percentOf = (part: number, whole: number): string => `${(part / whole) * 100}%`;
  return (
    <span
      className={`rank-heat-outline ${kind}`}
      style={{
        left: percentOf(cell.rank, ranks),
        top: percentOf(cell.step, rows),
        width: percentOf(1, ranks),
        height: percentOf(1, rows),
      }}
    />
  );
}
