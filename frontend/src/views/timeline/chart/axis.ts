import type { TimelineOverview } from "../../../api/schema";
import { duration } from "../../../text/formats";
import { lengthOf, type Span } from "../../../text/span";
import { ticksOf } from "../../../text/ticks";
import { syncMarks } from "../data/syncMarks";
import { LABEL_FONT, type Scene, Surface, toX } from "./scene";

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

const MINIMAP_HEIGHT = 34;

/** The whole trace, small, and a frame around what of it is in view. */
export class Minimap {
  private readonly surface: Surface;
  private whole: { picture: HTMLCanvasElement; of: readonly unknown[] } | null = null;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly timeline: TimelineOverview,
  ) {
    this.surface = new Surface(canvas);
  }

  /** Draw; the span of the scene is the whole trace. */
  draw(scene: Scene, shown: Span): void {
    this.surface.resize(scene.width, MINIMAP_HEIGHT, scene.ratio);
    this.surface.context.drawImage(this.picture(scene), 0, 0);
    this.surface.scaled(() => drawFrame(this.surface.context, scene, shown));
  }

  /** What is below the frame, drawn again when something of it changed. */
  private picture(scene: Scene): HTMLCanvasElement {
    const { width, ratio, palette, syncs } = scene;
    const of = [width, ratio, palette, syncs];
    if (this.whole?.of.every((value, index) => value === of[index]) === true) {
      return this.whole.picture;
    }
    const picture = document.createElement("canvas");
    const surface = new Surface(picture);
    surface.resize(width, MINIMAP_HEIGHT, ratio);
    surface.scaled(() => {
      surface.context.fillStyle = palette.surface;
      surface.context.fillRect(0, 0, width, MINIMAP_HEIGHT);
      drawWhole(surface.context, this.timeline, scene);
    });
    this.whole = { picture, of };
    return picture;
  }
}

/** Phases and syncs of the whole trace. */
function drawWhole(
  context: CanvasRenderingContext2D,
  timeline: TimelineOverview,
  scene: Scene,
): void {
  const { palette, width, colours } = scene;
  context.fillStyle = palette.hover;
  context.fillRect(0, 4, width, MINIMAP_HEIGHT - 8);
  const { start, duration: length, colour } = timeline.minimap;
  start.forEach((from, index) => {
    const left = toX(scene, from);
    const right = toX(scene, from + (length[index] ?? 0));
    context.fillStyle = colours[colour[index] ?? 0] ?? palette.idle;
    context.globalAlpha = 0.75;
    context.fillRect(left, 8, Math.max(right - left - 0.5, 0.5), MINIMAP_HEIGHT - 16);
  });
  context.globalAlpha = 1;
  context.fillStyle = palette.wait;
  for (const x of syncMarks(scene.syncs, scene.span, width, true)) {
    context.fillRect(x, 4, 1, MINIMAP_HEIGHT - 8);
  }
}

/** What of the whole is in view: a frame, the rest fades. */
function drawFrame(context: CanvasRenderingContext2D, scene: Scene, shown: Span): void {
  const { palette, width } = scene;
  const left = Math.round(toX(scene, shown.from));
  const right = Math.max(Math.round(toX(scene, shown.to)), left + 3);
  context.fillStyle = palette.surface;
  context.globalAlpha = 0.55;
  context.fillRect(0, 0, left, MINIMAP_HEIGHT);
  context.fillRect(right, 0, width - right, MINIMAP_HEIGHT);
  context.globalAlpha = 1;
  drawDensity(context, scene);
  context.strokeStyle = palette.text;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 1.5, right - left - 1, MINIMAP_HEIGHT - 3);
}

/** Where things were found, the darker the more. */
function drawDensity(context: CanvasRenderingContext2D, { density, width, palette }: Scene): void {
  const most = density.reduce((greatest, one) => Math.max(greatest, one), 0);
  const part = width / Math.max(density.length, 1);
  context.fillStyle = palette.text;
  density.forEach((count, index) => {
    if (count === 0) return;
    context.globalAlpha = 0.4 + (0.6 * count) / most;
    context.fillRect(Math.round(index * part), MINIMAP_HEIGHT - 6, Math.max(part, 1), 5);
  });
  context.globalAlpha = 1;
}
