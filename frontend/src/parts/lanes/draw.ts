import type { LaneBlocks } from "../../api/schema";
import type { Span } from "../../text/span";
import { ticksOf } from "../../text/ticks";
import { bytesOf, mixed, type Palette, readableOn } from "../../theme/colours";

/** Height of the line of times above all rows. */
export const AXIS_PX = 20;
/** Blocks of less than this have no room for a name. */
const NAMED_PX = 44;
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
/** How strong blocks are: as a rule, and after the end. Waits have their full colour. */
const [USUAL, FAINT] = [0.75, 0.2];
/** Height of the line below a block that is marked. */
const MARK_PX = 3;

/** Blocks to draw side by side, and what they mean. */
export interface LaneRow {
  /** Blocks of the lane; undefined before they are there. */
  readonly blocks: LaneBlocks | undefined;
  /** Which of its rows; null all of them, over each other. */
  readonly depth: number | null;
  readonly names: readonly string[];
  /** What each of the blocks' colours means, and how it looks. */
  readonly meanings: readonly string[];
  readonly fills: readonly string[];
  /** What the picture's time 0 is on the clock of the blocks. */
  readonly origin: number;
  /** Where what is drawn ends in earnest; what comes later is faint. */
  readonly end?: number;
  /** Height of the line above it. */
  readonly rule: 0 | 1 | 2;
  /** The colour that a block of a name is marked with. */
  readonly mark?: (name: string) => string | null;
}

export interface Picture {
  readonly rows: readonly LaneRow[];
  readonly rowPx: number;
  readonly span: Span;
  readonly palette: Palette;
}

export function heightOf({ rows, rowPx }: { rows: readonly unknown[]; rowPx: number }): number {
  return AXIS_PX + rows.length * rowPx;
}

/** Draw rows one below the other on one axis of time, in CSS pixels. */
export function drawRows(context: CanvasRenderingContext2D, width: number, picture: Picture): void {
  const { rows, rowPx, span, palette } = picture;
  const x = (us: number): number => ((us - span.from) / (span.to - span.from)) * width;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, heightOf(picture));
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = palette.muted;
  for (const { at, text } of ticksOf(span, width)) {
    context.fillRect(Math.round(x(at)), 0, 1, AXIS_PX);
    const left = x(at) + 4;
    if (left + context.measureText(text).width <= width) {
      context.fillText(text, left, AXIS_PX / 2);
    }
  }
  rows.forEach((row, at) => {
    const top = AXIS_PX + at * rowPx;
    context.fillStyle = palette.line;
    context.fillRect(0, top, width, row.rule);
    drawBlocks(context, row, { x, top, width, rowPx, palette });
  });
}

interface Frame {
  x: (us: number) => number;
  top: number;
  width: number;
  rowPx: number;
  palette: Palette;
}

function drawBlocks(context: CanvasRenderingContext2D, row: LaneRow, frame: Frame): void {
  const { x, top, width, rowPx, palette } = frame;
  const { blocks, depth, origin } = row;
  for (let index = 0; index < (blocks?.start.length ?? 0); index++) {
    if (blocks === undefined || (depth !== null && blocks.depth[index] !== depth)) continue;
    const start = (blocks.start[index] ?? 0) - origin;
    const from = Math.max(x(start), 0);
    const to = Math.min(x(start + (blocks.duration[index] ?? 0)), width);
    if (to < 0 || from > width) continue;
    const colour = blocks.colour[index] ?? 0;
    const waits = row.meanings[colour] === "wait";
    const faint = start >= (row.end ?? Infinity);
    const full = bytesOf(row.fills[colour] ?? palette.idle);
    const fill = mixed(bytesOf(palette.surface), full, faint ? FAINT : waits ? 1 : USUAL);
    context.fillStyle = `rgb(${fill.join(" ")})`;
    context.fillRect(from, top + 3, Math.max(to - from - 0.5, 0.8), rowPx - 5);
    const name = row.names[blocks.name[index] ?? -1];
    if (name === undefined || faint) continue;
    const mark = row.mark?.(name) ?? null;
    if (mark !== null) {
      context.fillStyle = mark;
      context.fillRect(from, top + rowPx - 2 - MARK_PX, Math.max(to - from - 0.5, 2), MARK_PX);
    }
    if (to - from < NAMED_PX) continue;
    context.fillStyle = readableOn(fill, palette.text, palette.surface);
    write(context, name, { from, to, top, rowPx });
  }
}

function write(
  context: CanvasRenderingContext2D,
  name: string,
  { from, to, top, rowPx }: { from: number; to: number; top: number; rowPx: number },
): void {
  context.save();
  context.beginPath();
  context.rect(from, top, to - from - 4, rowPx);
  context.clip();
  const [room, all] = [to - from - 8, context.measureText(name.slice(0, 80)).width];
  const end = Math.floor((Math.min(name.length, 80) * room) / all) - 1;
  const fits = all <= room ? name.slice(0, 80) : `${name.slice(0, end)}…`;
  context.fillText(fits, from + 4, top + rowPx / 2 + 0.5);
  context.restore();
}
