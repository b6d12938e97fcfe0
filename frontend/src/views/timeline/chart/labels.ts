import { counted } from "../../../text/formats";
import { shortKernelName } from "../../../text/kernelName";
import type { Span } from "../../../text/span";
import { type Blocks, blocksWithin, type Tile } from "../data/blocks";
import { isCurve, type LaneBox } from "../data/lanes";
import { strengthOf } from "./raster";
import { blocksOf, isCovered, LABEL_FONT, type Scene } from "./scene";

/** Narrower blocks have no label. */
const LEAST_PX = 30;
const PADDING_PX = 5;

/** Names on the blocks that have room for them. */
export function drawLabels(context: CanvasRenderingContext2D, scene: Scene): void {
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.direction = "ltr";
  for (const box of scene.boxes) {
    if (isCurve(box.lane)) continue;
    if (box.top + box.height <= scene.scroll || box.top >= scene.scroll + scene.height) continue;
    for (let depth = 0; depth < box.rows; depth++) drawRowLabels(context, scene, box, depth);
  }
}

function drawRowLabels(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: LaneBox,
  depth: number,
): void {
  const y = box.rowsTop + (depth + 0.5) * box.rowHeight - scene.scroll;
  if (y < -box.rowHeight || y > scene.height + box.rowHeight) return;
  if (isCovered(scene, box, y)) return;
  const short = box.lane.kind === "device" || box.lane.kind === "path";
  const said = short ? shortKernelName : labelText;
  const fit = box.lane.kind === "forward" || box.lane.kind === "backward" ? fitPath : fitText;
  const strength = strengthOf(box.lane.kind, box.lane.depth);
  // A block in view of two tiles is drawn by both, and named once.
  const named = new Set<number>();
  for (const { tile, clip } of scene.pieces) {
    const blocks = blocksOf(scene, tile, box);
    if (blocks === undefined) continue;
    const found = blocksToLabel(blocks, depth, clip, scene.span, scene.width, LEAST_PX);
    for (const { index, left, right } of found) {
      const start = blocks.start[index] ?? 0;
      if (named.has(start)) continue;
      named.add(start);
      const text = fit(
        labelOf(tile, blocks, index, said),
        right - left - 2 * PADDING_PX,
        scene.measure,
      );
      if (text === null) continue;
      const texts = scene.texts[blocks.colour[index] ?? 0];
      context.fillStyle = texts?.[strength(blocks, index, depth)] ?? scene.palette.text;
      context.fillText(text, left + PADDING_PX, y + 0.5);
    }
  }
}

function labelOf(
  tile: Tile,
  blocks: Blocks,
  index: number,
  said: (name: string) => string,
): string {
  const name = tile.names[blocks.name[index] ?? -1];
  const count = blocks.count[index] ?? 1;
  if (name === undefined) return count === 1 ? "" : counted(count, "event");
  return count === 1 ? said(name) : `${said(name)} × ${count}`;
}

/** No label says more than this of a name. */
const MOST_CHARACTERS = 120;

/** Below this many characters a label says nothing. */
const LEAST_CHARACTERS = 3;

/** What the engine writes before the name of a node, which says more. */
const NODE_PREFIX = "autograd::engine::evaluate_function: ";

/** What a block says of its event's name. */
export function labelText(name: string): string {
  return name.startsWith(NODE_PREFIX) ? name.slice(NODE_PREFIX.length) : name;
}

/** Width of a text, in pixels. */
export type Measure = (text: string) => number;

/**
 * Measures texts by the widths of their characters where these are plain, which is fast, and asks
 * `exact` for others; it caches widths.
 */
export function measureBy(exact: Measure): Measure {
  const plain = Float32Array.from({ length: 128 }, (_, code) =>
    code < 32 ? 0 : exact(String.fromCharCode(code)),
  );
  const others = new Map<string, number>();
  return (text) => {
    let sum = 0;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 126) return known(others, text, exact);
      sum += plain[code] ?? 0;
    }
    return sum;
  };
}

function known(held: Map<string, number>, text: string, exact: Measure): number {
  const found = held.get(text);
  if (found !== undefined) return found;
  if (held.size > 5000) held.clear();
  const width = exact(text);
  held.set(text, width);
  return width;
}

/** As much of a text as has room, with a mark where it goes on; null where that says nothing. */
export function fitText(text: string, room: number, measure: Measure): string | null {
  const bounded = text.slice(0, MOST_CHARACTERS);
  if (bounded === text && measure(text) <= room) return text;
  let [low, high] = [0, bounded.length];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (measure(`${bounded.slice(0, middle)}…`) <= room) low = middle;
    else high = middle - 1;
  }
  return low < LEAST_CHARACTERS ? null : `${bounded.slice(0, low)}…`;
}

/** The last part of a module's path says most about it: what else is left out first. */
export function fitPath(text: string, room: number, measure: Measure): string | null {
  if (measure(text.slice(0, MOST_CHARACTERS)) <= room) return fitText(text, room, measure);
  const parts = text.split(".");
  for (let from = 1; from < parts.length; from++) {
    const rest = parts.slice(from).join(".");
    if (measure(rest) <= room) return rest;
  }
  return fitText(parts.at(-1) ?? text, room, measure);
}

/** A block of a row that is long enough for a label, and the part of it that is in view. */
export interface Labelled {
  readonly index: number;
  readonly left: number;
  readonly right: number;
}

/** The blocks of a row that take at least `least` pixels of what is in view. */
export function blocksToLabel(
  blocks: Blocks,
  depth: number,
  clip: Span,
  span: Span,
  width: number,
  least: number,
): Labelled[] {
  const scale = width / (span.to - span.from);
  const [from, to] = [Math.max(clip.from, span.from), Math.min(clip.to, span.to)];
  const [first, last] = blocksWithin(blocks, depth, from, to);
  const found: Labelled[] = [];
  for (let index = first; index < last; index++) {
    const left = (Math.max(blocks.start[index] ?? 0, span.from) - span.from) * scale;
    const right = (Math.min(blocks.end[index] ?? 0, span.to) - span.from) * scale;
    if (right - left >= least) found.push({ index, left, right });
  }
  return found;
}
