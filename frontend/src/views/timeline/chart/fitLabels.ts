import { blocksWithin, type Blocks } from "../data/blocks";
import type { Span } from "../../../text/span";

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
 * `exact` for others; it keeps what it was told.
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
