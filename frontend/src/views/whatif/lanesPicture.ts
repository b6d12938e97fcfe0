import type { WireTimeline, WireWindow } from "../../api/types";
import type { Span } from "../../text/span";
import { coloursOf, type Palette } from "../../theme/colours";

/** Height of a lane, and of the line of times above all of them. */
export const LANE_PX = 22;
export const AXIS_PX = 20;
/** Blocks of less than this have no room for a name. */
const NAMED_PX = 44;
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export interface Picture {
  readonly lanes: WireTimeline["lanes"];
  readonly colours: readonly string[];
  readonly shown: WireWindow;
  readonly span: Span;
  readonly palette: Palette;
  /** The times to write above. */
  readonly ticks: readonly { at: number; text: string }[];
}

/** Draw the lanes of a window one below the other, in CSS pixels. */
export function drawLanes(
  context: CanvasRenderingContext2D,
  width: number,
  { lanes, colours, shown, span, palette, ticks }: Picture,
): void {
  const x = (us: number): number => ((us - span.from) / (span.to - span.from)) * width;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, heightOf(lanes.length));
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = palette.muted;
  for (const { at, text } of ticks) {
    context.fillRect(Math.round(x(at)), 0, 1, AXIS_PX);
    const left = x(at) + 4;
    if (left + context.measureText(text).width <= width) {
      context.fillText(text, left, AXIS_PX / 2);
    }
  }
  const fills = coloursOf(colours, palette);
  lanes.forEach(({ id }, row) => {
    const top = AXIS_PX + row * LANE_PX;
    context.fillStyle = palette.line;
    context.fillRect(0, top, width, row > 0 && id === firstOfSecond(lanes) ? 2 : 1);
    const blocks = shown.lanes.find((one) => one.id === id);
    blocks?.start.forEach((start, index) => {
      const from = Math.max(x(start), 0);
      const to = Math.min(x(start + (blocks.duration[index] ?? 0)), width);
      const colour = blocks.colour[index] ?? 0;
      context.globalAlpha = colours[colour] === "wait" ? 1 : 0.75;
      context.fillStyle = fills[colour] ?? palette.idle;
      context.fillRect(from, top + 3, Math.max(to - from - 0.5, 0.8), LANE_PX - 5);
      context.globalAlpha = 1;
      const name = shown.names[blocks.name[index] ?? -1];
      if (name !== undefined && to - from >= NAMED_PX) {
        write(context, name, { from, to, top }, palette, colours[colour] === "wait");
      }
    });
  });
}

export function heightOf(lanes: number): number {
  return AXIS_PX + lanes * LANE_PX;
}

/** First lane of the second group: what is predicted. */
function firstOfSecond(lanes: WireTimeline["lanes"]): string | undefined {
  return lanes.find(({ group }) => group !== lanes[0]?.group)?.id;
}

function write(
  context: CanvasRenderingContext2D,
  name: string,
  { from, to, top }: { from: number; to: number; top: number },
  palette: Palette,
  onWait: boolean,
): void {
  context.save();
  context.beginPath();
  context.rect(from, top, to - from - 4, LANE_PX);
  context.clip();
  context.fillStyle = onWait ? palette.onWait : palette.text;
  context.fillText(name.slice(0, 80), from + 4, top + LANE_PX / 2 + 0.5);
  context.restore();
}
