import type { Span } from "../../../text/span";
import type { Palette } from "../../../theme/colours";
import { type Blocks, colouredByName, type Tile } from "../data/blocks";
import type { Block } from "../data/hits";
import type { LaneBox } from "../data/lanes";
import type { Sync } from "../data/syncMarks";
import type { Piece } from "../data/tiles";
import type { Measure } from "./labels";
import type { Ink } from "./raster";

/** An event where it is drawn. */
export interface Spot {
  readonly lane: string;
  readonly depth: number;
  readonly span: Span;
}

/** What is on the chart apart from the trace; changed by the views around it. */
export interface Decor {
  readonly boxes: readonly LaneBox[];
  readonly palette: Palette;
  readonly ink: Ink;
  readonly syncs: readonly Sync[];
  readonly selected: Spot | null;
  /** What the selected event is linked to. */
  readonly links: readonly Spot[];
  readonly hits: readonly Spot[];
  /** How many hits begin in each of some equal parts of the trace. */
  readonly density: readonly number[];
  readonly range: Span | null;
  readonly mark: Span | null;
  /** Whether events have the colours of their names, not of their phases. */
  readonly byName: boolean;
  /** Of text on each shade of each colour. */
  readonly texts: readonly (readonly string[])[];
  /** How the numbers of blocks' colours look where there are no shades. */
  readonly colours: readonly string[];
}

/** All that one picture shows. */
export interface Scene extends Decor {
  readonly span: Span;
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly scroll: number;
  /** Height that pinned lanes cover, from the top. */
  readonly covered: number;
  /** Device pixels in one of them. */
  readonly ratio: number;
  readonly pieces: readonly Piece<Tile>[];
  readonly hovered: Block | null;
  readonly measure: Measure;
  /** The greatest value of each curve of the whole trace. */
  readonly greatest: ReadonlyMap<string, number>;
}

/** Whether something of a lane at this height of the canvas lies under the pinned ones. */
export function isCovered(scene: Scene, box: LaneBox, y: number): boolean {
  return !box.pinned && y < scene.covered;
}

/** What a tile holds of a lane, in the colours that are asked for. */
export function blocksOf(scene: Scene, tile: Tile, { lane }: LaneBox): Blocks | undefined {
  const blocks = tile.blocks.get(lane.id);
  const named = scene.byName && (lane.kind === "device" || lane.kind === "host");
  return blocks === undefined || !named
    ? blocks
    : colouredByName(tile, blocks, scene.colours.length);
}

export const LABEL_FONT =
  "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export function toX(scene: Pick<Scene, "span" | "width">, time: number): number {
  const { from, to } = scene.span;
  return ((time - from) / (to - from)) * scene.width;
}

/** A canvas that is as sharp as the screen. */
export class Surface {
  readonly context: CanvasRenderingContext2D;
  private ratio = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("this browser draws on no canvas");
    this.context = context;
  }

  /** Give it its size: CSS pixels, and device pixels in each. */
  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width === across && this.canvas.height === down) return;
    this.canvas.width = across;
    this.canvas.height = down;
    this.canvas.style.height = `${height}px`;
  }

  /** Draw in CSS pixels. */
  scaled(draw: () => void): void {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    draw();
    this.context.setTransform(1, 0, 0, 1, 0, 0);
  }
}
