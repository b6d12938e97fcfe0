import type { Block } from "../data/hits";
import type { Tile } from "../data/blocks";
import type { LaneBox } from "../data/lanes";
import type { Measure } from "./fitLabels";
import type { Ink } from "./raster";
import type { Span } from "../../../text/span";
import type { Piece } from "../data/tiles";
import type { Wait } from "../data/waits";
import type { Palette } from "../../../theme/colours";

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
  readonly waits: readonly Wait[];
  readonly selected: Spot | null;
  /** What the selected event is linked to. */
  readonly links: readonly Spot[];
  readonly hits: readonly Spot[];
  /** How many hits begin in each of some equal parts of the trace. */
  readonly density: readonly number[];
  readonly range: Span | null;
  readonly mark: Span | null;
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
  /** Device pixels in one of them. */
  readonly ratio: number;
  readonly pieces: readonly Piece<Tile>[];
  readonly hovered: Block | null;
  readonly measure: Measure;
  /** The greatest value of each curve of the whole trace. */
  readonly greatest: ReadonlyMap<string, number>;
}

export const LABEL_FONT =
  "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export function toX(scene: Pick<Scene, "span" | "width">, time: number): number {
  const { from, to } = scene.span;
  return ((time - from) / (to - from)) * scene.width;
}
