import type { TimelineOverview } from "../../../api/schema";
import { lengthOf, type Span } from "../../../text/span";
import { type Block, blockAt, type Direction, eventNextTo, sameBlock } from "../data/hits";
import { heightOf, type LaneBox, pinnedHeight, rowTop, scrolled } from "../data/lanes";
import { piecesFor, tilesInView, type TileStore, tilesWanted } from "../data/tiles";
import { between, clampSpan, sameSpan } from "../data/viewport";
import { AXIS_HEIGHT, drawAxis, Minimap } from "./axis";
import { drawLabels, type Measure, measureBy } from "./labels";
import { LanesPicture } from "./lanesPicture";
import { drawOverlay } from "./overlay";
import { type Decor, LABEL_FONT, type Scene, type Spot, Surface } from "./scene";

export interface Canvases {
  lanes: HTMLCanvasElement;
  axis: HTMLCanvasElement;
  minimap: HTMLCanvasElement;
  /** What scrolls the lanes; the canvas of the lanes stays where it is in it. */
  scroller: HTMLElement;
}

/** What the chart reports; `block` is null outside of all blocks. */
export interface ChartEvents {
  /** A picture was drawn of this part of the timeline. */
  onFrame: (shown: Span) => void;
  /** It stands still. */
  onSettled: (shown: Span) => void;
  onHover: (block: Block | null, x: number, y: number) => void;
  onPick: (block: Block | null) => void;
  onOpen: (block: Block) => void;
  /** A span is being selected, or (`done`) was. */
  onRange: (range: Span, done: boolean) => void;
}

/** Time in which most of a smooth movement is done. */
const EASE_MS = 55;
const SETTLED_MS = 250;
/** How far from a block one may point at it, in pixels. */
const SLACK_PX = 2;

/** The picture of the timeline: what is in view of it, and drawing that when something changed. */
export class Chart {
  private events: Partial<ChartEvents> = {};
  private readonly lanes: Surface;
  private readonly axis: Surface;
  private readonly minimap: Minimap;
  private readonly picture = new LanesPicture();
  private readonly measure: Measure;
  private readonly curveTops = new Map<string, number>();
  private span: Span;
  private target: Span | null = null;
  private hovered: Block | null = null;
  private pointed: number | null = null;
  private frame = 0;
  private lastTime = 0;
  private settling = 0;

  constructor(
    private readonly canvases: Canvases,
    timeline: TimelineOverview,
    private readonly stores: readonly TileStore[],
    readonly bounds: Span,
    private decor: Decor,
    first: Span,
  ) {
    this.span = clampSpan(first, bounds);
    this.lanes = new Surface(canvases.lanes);
    this.axis = new Surface(canvases.axis);
    this.minimap = new Minimap(canvases.minimap, timeline);
    const context = this.lanes.context;
    this.measure = measureBy((text) => {
      context.font = LABEL_FONT;
      return context.measureText(text).width;
    });
  }

  /** What is in view, or will be once it has moved there. */
  get shown(): Span {
    return this.target ?? this.span;
  }

  get width(): number {
    return this.canvases.lanes.clientWidth;
  }

  listen(events: ChartEvents): void {
    this.events = events;
    this.invalidate();
  }

  /** The listeners to what is done on the chart. */
  get listeners(): Partial<ChartEvents> {
    return this.events;
  }

  decorate(change: Partial<Decor>): void {
    this.decor = { ...this.decor, ...change };
    this.invalidate();
  }

  /** Look at another part, at once or by moving there. */
  show(span: Span, smoothly = false): void {
    const wanted = clampSpan(span, this.bounds);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (smoothly && !still && !sameSpan(wanted, this.span, this.width)) {
      this.target = wanted;
    } else {
      this.target = null;
      this.span = wanted;
    }
    this.invalidate();
  }

  /** Draw before the next picture of the screen. */
  readonly invalidate = (): void => {
    if (this.frame === 0) this.frame = requestAnimationFrame(this.draw);
  };

  close(): void {
    cancelAnimationFrame(this.frame);
    window.clearTimeout(this.settling);
    this.frame = -1;
  }

  /** Where one points, or the middle of what is in view. */
  get pointedTime(): number {
    const { from, to } = this.shown;
    const pointed = this.pointed === null ? Number.NaN : this.timeAt(this.pointed);
    return pointed >= from && pointed <= to ? pointed : (from + to) / 2;
  }

  /** Remember where (CSS pixels from the left) the pointer is; null where it is elsewhere. */
  point(x: number | null): void {
    this.pointed = x;
  }

  timeAt(x: number): number {
    return this.span.from + (x / Math.max(this.width, 1)) * lengthOf(this.span);
  }

  blockAt(x: number, y: number): Block | null {
    const slack = (SLACK_PX * lengthOf(this.span)) / Math.max(this.width, 1);
    const height = y + this.canvases.scroller.scrollTop;
    return blockAt(this.pieces(), this.boxes(), this.timeAt(x), height, slack);
  }

  /** Mark what is pointed at; true if that is something else than before. */
  hover(block: Block | null): boolean {
    if (block === this.hovered) return false;
    if (block !== null && this.hovered !== null && sameBlock(block, this.hovered)) return false;
    this.hovered = block;
    this.invalidate();
    return true;
  }

  /** The event next to another; without another, one in the middle of what is in view. */
  nextTo(from: Spot | null, direction: Direction): Block | null {
    const { boxes } = this.decor;
    if (from !== null) return eventNextTo(this.pieces(), boxes, from, direction);
    const middle = (this.span.from + this.span.to) / 2;
    const above = { lane: "", depth: 0, span: { from: middle, to: middle } };
    return eventNextTo(this.pieces(), boxes, above, "below");
  }

  /** Scroll to the row of an event, if it is not in view. */
  reveal(spot: Spot): void {
    const box = this.decor.boxes.find(({ lane }) => lane.id === spot.lane);
    if (box === undefined || box.pinned) return;
    const { scroller } = this.canvases;
    const top = rowTop(box, spot.depth);
    const above = top < scroller.scrollTop + pinnedHeight(this.decor.boxes);
    const below = top + box.rowHeight > scroller.scrollTop + scroller.clientHeight;
    if (!above && !below) return;
    scroller.scrollTop = top - (scroller.clientHeight - box.rowHeight) / 2;
    this.invalidate();
  }

  /** Where the lanes are, scrolled as they are. */
  private boxes(): readonly LaneBox[] {
    return scrolled(this.decor.boxes, this.canvases.scroller.scrollTop);
  }

  private pieces(): Scene["pieces"] {
    const wanted = tilesInView(this.span, this.bounds);
    return this.stores.flatMap((tiles) => piecesFor(wanted, this.bounds, tiles.find));
  }

  /** The greatest value of each curve, once the whole trace is there. */
  private greatest(): ReadonlyMap<string, number> {
    const whole = this.stores[0]?.find({ level: 0, index: 0 });
    if (this.curveTops.size === 0) {
      for (const [id, { value }] of whole?.curves ?? []) {
        this.curveTops.set(
          id,
          value.reduce((most, one) => Math.max(most, one), 0),
        );
      }
    }
    return this.curveTops;
  }

  private readonly draw = (now: number): void => {
    this.frame = 0;
    this.move(now);
    const { scroller } = this.canvases;
    const [width, height] = [
      this.width,
      Math.min(scroller.clientHeight, heightOf(this.decor.boxes)),
    ];
    if (width <= 0 || height <= 0) return;
    const ratio = window.devicePixelRatio;
    const wanted = tilesWanted(this.shown, this.bounds);
    for (const tiles of this.stores) tiles.want(wanted, width);
    const scene: Scene = {
      ...this.decor,
      boxes: this.boxes(),
      covered: pinnedHeight(this.decor.boxes),
      span: this.span,
      width,
      height,
      scroll: scroller.scrollTop,
      ratio,
      pieces: this.pieces(),
      hovered: this.hovered,
      measure: this.measure,
      greatest: this.greatest(),
    };
    this.lanes.resize(width, height, ratio);
    this.picture.draw(this.lanes.context, scene);
    this.lanes.scaled(() => {
      drawLabels(this.lanes.context, scene);
      drawOverlay(this.lanes.context, scene);
    });
    this.axis.resize(width, AXIS_HEIGHT, ratio);
    this.axis.scaled(() => drawAxis(this.axis.context, scene));
    this.minimap.draw({ ...scene, span: this.bounds }, this.span);
    this.events.onFrame?.(this.span);
    this.afterwards();
  };

  /** One step on the way to where we are going. */
  private move(now: number): void {
    if (this.target === null) return;
    const passed = Math.min(now - this.lastTime, 40);
    this.lastTime = now;
    this.span = between(this.span, this.target, 1 - Math.exp(-Math.max(passed, 8) / EASE_MS));
    if (!sameSpan(this.span, this.target, this.width)) return;
    this.span = this.target;
    this.target = null;
  }

  private afterwards(): void {
    if (this.target !== null) {
      this.invalidate();
      return;
    }
    window.clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      this.events.onSettled?.(this.span);
    }, SETTLED_MS);
  }
}
