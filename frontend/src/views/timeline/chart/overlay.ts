import { bytes, count } from "../../../text/formats";
import { isCurve, rowTop, type LaneBox } from "../data/lanes";
import { lowerBound, type Curve } from "../data/blocks";
import { syncMarks } from "../data/syncMarks";
import { isCovered, LABEL_FONT, toX, type Scene, type Spot } from "./scene";

const MANY_LINKS = 3;

/** What lies upon the blocks: curves, syncs, what is found, pointed at and selected, arrows. */
export function drawOverlay(context: CanvasRenderingContext2D, scene: Scene): void {
  for (const box of scene.boxes) {
    if (isCovered(scene, box, box.top + box.height / 2 - scene.scroll)) continue;
    if (isCurve(box.lane)) drawCurve(context, scene, box);
    if (box.lane.note !== null) drawNote(context, scene, box, box.lane.note);
  }
  drawSyncMarks(context, scene);
  drawRange(context, scene);
  for (const hit of scene.hits) outline(context, scene, hit, scene.palette.backwardText, 1);
  if (scene.hovered !== null) outline(context, scene, scene.hovered, scene.palette.text, 1);
  for (const link of scene.links) outline(context, scene, link, scene.palette.text, 1);
  drawArrows(context, scene);
  if (scene.selected !== null) outline(context, scene, scene.selected, scene.palette.text, 2);
}

/** Why a lane shows nothing, in a line. */
function drawNote(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: LaneBox,
  note: string,
): void {
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = scene.palette.muted;
  context.fillText(note, 8, box.top + box.height / 2 - scene.scroll);
}

/** Arrows to what is linked; of many, paler ones, so that they do not hide what is below. */
function drawArrows(context: CanvasRenderingContext2D, scene: Scene): void {
  if (scene.selected === null) return;
  context.globalAlpha = scene.links.length > MANY_LINKS ? 0.4 : 0.9;
  for (const link of scene.links) drawArrow(context, scene, scene.selected, link);
  context.globalAlpha = 1;
}

function drawSyncMarks(context: CanvasRenderingContext2D, scene: Scene): void {
  context.globalAlpha = 0.5;
  for (const look of [false, true]) {
    context.fillStyle = look ? scene.palette.wait : scene.palette.idle;
    for (const x of syncMarks(scene.syncs, scene.span, scene.width, look)) {
      context.fillRect(x, 0, 1, scene.height);
    }
  }
  context.globalAlpha = 1;
}

function drawRange(context: CanvasRenderingContext2D, scene: Scene): void {
  for (const [span, colour] of [
    [scene.range, scene.palette.focus],
    [scene.mark, scene.palette.text],
  ] as const) {
    if (span === null) continue;
    context.fillStyle = colour;
    for (const time of [span.from, span.to]) {
      context.fillRect(Math.round(toX(scene, time)), 0, 1, scene.height);
    }
  }
}

function drawCurve(context: CanvasRenderingContext2D, scene: Scene, box: LaneBox): void {
  const bottom = box.top + box.height - 6 - scene.scroll;
  const room = box.height - 12;
  if (bottom < 0 || bottom - room > scene.height) return;
  const most = Math.max(scene.greatest.get(box.lane.id) ?? 1, 1);
  context.beginPath();
  for (const { tile, clip } of scene.pieces) {
    const curve = tile.curves.get(box.lane.id);
    if (curve === undefined || curve.start.length === 0) continue;
    const left = Math.max(toX(scene, clip.from), 0);
    const right = Math.min(toX(scene, clip.to), scene.width);
    traceSteps(context, scene, curve, [left, right], (value) => bottom - (value / most) * room);
  }
  context.strokeStyle = scene.palette.muted;
  context.lineWidth = 1;
  context.stroke();
  if (scene.greatest.has(box.lane.id)) drawMost(context, scene, box, most);
}

/** The greatest value of a curve, which its lane is as high as. */
function drawMost(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: LaneBox,
  most: number,
): void {
  context.font = LABEL_FONT;
  context.textBaseline = "top";
  context.textAlign = "right";
  const text = `max ${box.lane.kind === "memory" ? bytes(most) : count(most)}`;
  const [right, top] = [scene.width - 6, box.top + 4 - scene.scroll];
  const room = scene.measure(text) + 6;
  context.globalAlpha = 0.8; // the curve goes on below it
  context.fillStyle = scene.palette.surface;
  context.fillRect(right - room + 3, top - 2, room, 15);
  context.globalAlpha = 1;
  context.fillStyle = scene.palette.muted;
  context.fillText(text, right, top);
}

/** A line of steps between two places. */
function traceSteps(
  context: CanvasRenderingContext2D,
  scene: Scene,
  curve: Curve,
  [left, right]: readonly [number, number],
  toY: (value: number) => number,
): void {
  const { start, value } = curve;
  const from = scene.span.from + (left / scene.width) * (scene.span.to - scene.span.from);
  let index = Math.max(lowerBound(start, 0, start.length, from) - 1, 0);
  let y = toY(value[index] ?? 0);
  context.moveTo(Math.max(left, toX(scene, start[index] ?? 0)), y);
  for (index += 1; index < start.length; index++) {
    const x = toX(scene, start[index] ?? 0);
    if (x >= right) break;
    context.lineTo(x, y);
    y = toY(value[index] ?? 0);
    context.lineTo(x, y);
  }
  context.lineTo(right, y);
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Where an event is on the canvas; never narrower than can be seen. */
function boxOf(scene: Scene, spot: Spot): Box | null {
  const box = scene.boxes.find(({ lane }) => lane.id === spot.lane);
  if (box === undefined) return null;
  const top = rowTop(box, spot.depth) - scene.scroll;
  if (isCovered(scene, box, top)) return null;
  const hidden = spot.depth >= box.rows;
  const left = toX(scene, spot.span.from);
  const right = Math.max(toX(scene, spot.span.to), left + 3);
  return { left, right, top, bottom: hidden ? top + 2 : top + box.rowHeight - 1 };
}

function outline(
  context: CanvasRenderingContext2D,
  scene: Scene,
  spot: Spot,
  colour: string,
  weight: number,
): void {
  const box = boxOf(scene, spot);
  if (box === null || box.right < -4 || box.left > scene.width + 4) return;
  const left = Math.max(box.left, -4);
  const right = Math.min(box.right, scene.width + 4);
  context.strokeStyle = colour;
  context.lineWidth = weight;
  context.strokeRect(
    Math.round(left) + weight / 2 - 0.5,
    Math.round(box.top) + weight / 2 - 0.5,
    Math.max(Math.round(right - left) - weight + 0.5, 1),
    Math.round(box.bottom - box.top) - weight + 1,
  );
}

/** From the middle of what is seen of one event to that of another, ending in a point. */
function drawArrow(context: CanvasRenderingContext2D, scene: Scene, from: Spot, to: Spot): void {
  const [a, b] = [boxOf(scene, from), boxOf(scene, to)];
  if (a === null || b === null) return;
  const middle = ({ left, right }: Box): number => {
    const seen = (Math.max(left, 0) + Math.min(right, scene.width)) / 2;
    return right < 0 || left > scene.width ? (left + right) / 2 : seen;
  };
  const [fromX, toX2] = [middle(a), middle(b)];
  const down = b.top >= a.top;
  const fromY = down ? a.bottom : a.top;
  const toY = down ? b.top : b.bottom;
  const bend = Math.max(Math.abs(toY - fromY) / 2, 18) * (down ? 1 : -1);
  context.strokeStyle = scene.palette.text;
  context.fillStyle = scene.palette.text;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.bezierCurveTo(fromX, fromY + bend, toX2, toY - bend, toX2, toY);
  context.stroke();
  const tip = down ? -5 : 5;
  context.beginPath();
  context.moveTo(toX2, toY);
  context.lineTo(toX2 - 3, toY + tip);
  context.lineTo(toX2 + 3, toY + tip);
  context.fill();
}
