import { duration } from "../../../text/formats";
import { lengthOf, type Span } from "../../../text/span";
import { ticksOf } from "../../../text/ticks";
import { LABEL_FONT, toX, type Scene } from "./scene";

export const AXIS_HEIGHT = 32;
const TEXT_Y = 22;

/** Times, what is selected and marked with its length, and where things were found. */
export function drawAxis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, width } = scene;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, AXIS_HEIGHT);
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = palette.muted;
  for (const { at, text } of ticksOf(scene.span, width)) {
    const x = Math.round(toX(scene, at));
    context.fillRect(x, AXIS_HEIGHT - 8, 1, 8);
    if (x + 4 + scene.measure(text) <= width) context.fillText(text, x + 4, TEXT_Y);
  }
  for (const { span } of scene.hits) {
    context.fillStyle = palette.backward;
    context.fillRect(Math.round(toX(scene, span.from)), 0, 2, 5);
  }
  if (scene.mark !== null) drawLength(context, scene, scene.mark, palette.text);
  if (scene.range !== null) drawLength(context, scene, scene.range, palette.focus);
}

/** A bracket over a span, with its length where there is room. */
function drawLength(
  context: CanvasRenderingContext2D,
  scene: Scene,
  span: Span,
  colour: string,
): void {
  const from = Math.max(toX(scene, span.from), -2);
  const to = Math.min(toX(scene, span.to), scene.width + 2);
  if (to < 0 || from > scene.width) return;
  context.fillStyle = colour;
  context.fillRect(from, 2, Math.max(to - from, 1), 2);
  const text = duration(lengthOf(span));
  const room = scene.measure(text) + 10;
  if (to - from < room) return;
  const middle = (from + to) / 2;
  context.fillStyle = scene.palette.surface;
  context.fillRect(middle - room / 2, 0, room, 14);
  context.fillStyle = colour;
  context.textAlign = "center";
  context.fillText(text, middle, 7);
  context.textAlign = "left";
}
