import { ticksOf } from "../../../text/ticks";
import { bytesOf } from "../../../theme/colours";
import { isCurve, type LaneBox } from "../data/lanes";
import {
  clearLines,
  drawRow,
  type Lines,
  makeLines,
  mix,
  packed,
  stamp,
  strengthOf,
} from "./raster";
import { blocksOf, type Scene, toX } from "./scene";

const GRID_SHARE = 0.55;
const RANGE_SHARE = 0.1;

/** The blocks of all lanes in view, worked out as pixels and put on the canvas in one piece. */
export class LanesPicture {
  private image = new ImageData(1, 1);
  private pixels = new Uint32Array(this.image.data.buffer);
  private ground = new Uint32Array(1);
  private lines: Lines = makeLines(1);

  draw(context: CanvasRenderingContext2D, scene: Scene): void {
    const width = Math.max(1, Math.round(scene.width * scene.ratio));
    const height = Math.max(1, Math.round(scene.height * scene.ratio));
    if (this.image.width !== width || this.image.height !== height) this.resize(width, height);
    this.drawGround(scene);
    for (let y = 0; y < height; y++) this.pixels.set(this.ground, y * width);
    for (const box of scene.boxes) {
      if (box.top + box.height > scene.scroll && box.top < scene.scroll + scene.height) {
        this.drawLane(scene, box);
      }
    }
    context.putImageData(this.image, 0, 0);
  }

  private resize(width: number, height: number): void {
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.ground = new Uint32Array(width);
    this.lines = makeLines(width);
  }

  /** One line of the background of the blocks: the ticks of the axis, and what is selected. */
  private drawGround(scene: Scene): void {
    const { palette, ratio, ink } = scene;
    this.ground.fill(ink.ground);
    if (scene.range !== null) {
      const tint = mix(ink.ground, packed(bytesOf(palette.focus)), RANGE_SHARE);
      const [from, to] = [toX(scene, scene.range.from), toX(scene, scene.range.to)];
      this.ground.fill(tint, Math.max(0, from * ratio), Math.max(0, to * ratio));
    }
    const line = packed(bytesOf(palette.line));
    for (const { at } of ticksOf(scene.span, scene.width)) {
      const x = Math.round(toX(scene, at) * ratio);
      this.ground[x] = mix(this.ground[x] ?? ink.ground, line, GRID_SHARE);
    }
  }

  private drawLane(scene: Scene, box: LaneBox): void {
    const { ratio, ink } = scene;
    const from = box.pinned ? 0 : Math.round(scene.covered * ratio);
    const bounds = { from, to: this.image.height };
    const device = (y: number): number => Math.round((y - scene.scroll) * ratio);
    const bottom = device(box.top + box.height) - 1;
    const strength = strengthOf(box.lane.kind, box.lane.depth);
    const frame = { span: scene.span, width: this.image.width, gap: ratio };
    if (!isCurve(box.lane)) {
      for (let depth = 0; depth < box.rows; depth++) {
        const top = device(box.rowsTop + depth * box.rowHeight);
        const height = device(box.rowsTop + (depth + 1) * box.rowHeight) - top - Math.round(ratio);
        if (top + height < 0 || top >= bounds.to) continue;
        this.lines.body.set(this.ground);
        this.lines.edge.set(this.ground);
        this.lines.stripe.set(this.ground);
        let any = false;
        for (const { tile, clip } of scene.pieces) {
          const blocks = blocksOf(scene, tile, box);
          if (blocks === undefined) continue;
          const of = (index: number): number => strength(blocks, index, depth);
          any = drawRow(this.lines, blocks, depth, clip, frame, ink, of) || any;
        }
        if (any) stamp(this.pixels, this.lines, top, height, bounds);
      }
    }
    clearLines(this.lines, packed(bytesOf(scene.palette.line)));
    stamp(this.pixels, this.lines, bottom, 1, bounds);
  }
}
