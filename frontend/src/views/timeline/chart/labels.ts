import { blocksToLabel, fitPath, fitText, labelText } from "./fitLabels";
import type { LaneBox } from "../data/lanes";
import { counted } from "../../../text/formats";
import type { Blocks, Tile } from "../data/blocks";
import { strengthOf } from "./shades";
import { LABEL_FONT, type Scene } from "./scene";

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
    if (box.lane.kind === "queue") continue;
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
  const fit = box.lane.kind === "forward" || box.lane.kind === "backward" ? fitPath : fitText;
  const strength = strengthOf(box.lane.kind, box.lane.depth);
  // A block in view of two tiles is drawn by both, and named once.
  const named = new Set<number>();
  for (const { tile, clip } of scene.pieces) {
    const blocks = tile.blocks.get(box.lane.id);
    if (blocks === undefined) continue;
    const found = blocksToLabel(blocks, depth, clip, scene.span, scene.width, LEAST_PX);
    for (const { index, left, right } of found) {
      const start = blocks.start[index] ?? 0;
      if (named.has(start)) continue;
      named.add(start);
      const text = fit(labelOf(tile, blocks, index), right - left - 2 * PADDING_PX, scene.measure);
      if (text === null) continue;
      const texts = scene.texts[blocks.colour[index] ?? 0];
      context.fillStyle = texts?.[strength(blocks, index, depth)] ?? scene.palette.text;
      context.fillText(text, left + PADDING_PX, y + 0.5);
    }
  }
}

function labelOf(tile: Tile, blocks: Blocks, index: number): string {
  const name = tile.names[blocks.name[index] ?? -1];
  const count = blocks.count[index] ?? 1;
  if (name === undefined) return count === 1 ? "" : counted(count, "event");
  return count === 1 ? labelText(name) : `${labelText(name)} × ${count}`;
}
