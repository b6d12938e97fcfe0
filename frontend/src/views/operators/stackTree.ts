/** Python stacks of operators added up: as one tree from the outermost frame, or around one frame. */

import { frameShort, isLibrary } from "../../report/chain";
import { groupBy } from "../../text/numbers";

/** Calls with the same frames around them, outermost first, the operator last. */
export interface Calls {
  readonly frames: readonly string[];
  readonly us: number;
}

export interface Frame {
  readonly name: string;
  readonly us: number;
  /** The most expensive first. */
  readonly inside: readonly Frame[];
}

/** Around a frame, wherever it is: what calls it, innermost first, and what it calls. */
interface Sandwich {
  readonly callers: Frame;
  readonly callees: Frame;
}

/** What is written of a stack: lines outside of torch, and the operator. */
export function framesOf(stack: string, operator: string): string[] {
  const lines = stack === "" ? [] : stack.split("\n").reverse();
  return [...lines.filter((line) => !isLibrary(line)).map(frameShort), operator];
}

export function stackTree(name: string, calls: readonly Calls[]): Frame {
  const below = groupBy(
    calls.filter(({ frames }) => frames.length > 0),
    ({ frames: [first = ""] }) => first,
  );
  const inner = ({ frames, us }: Calls): Calls => ({ frames: frames.slice(1), us });
  return {
    name,
    us: calls.reduce((sum, { us }) => sum + us, 0),
    inside: [...below]
      .map(([frame, mine]) => stackTree(frame, mine.map(inner)))
      .sort((a, b) => b.us - a.us),
  };
}

/** Each call counts once, by the outermost of its frames of that name. */
export function sandwich(name: string, calls: readonly Calls[]): Sandwich {
  const found = calls.flatMap(({ frames, us }) => {
    const at = frames.indexOf(name);
    return at < 0
      ? []
      : [{ us, before: frames.slice(0, at).reverse(), after: frames.slice(at + 1) }];
  });
  return {
    callers: stackTree(
      name,
      found.map(({ us, before }) => ({ us, frames: before })),
    ),
    callees: stackTree(
      name,
      found.map(({ us, after }) => ({ us, frames: after })),
    ),
  };
}

export interface Bar {
  readonly frame: Frame;
  /** Of the width, 0 to 1. */
  readonly left: number;
  readonly width: number;
  readonly level: number;
}

/** The last of frames that all lead to one another and nowhere else, before the operator. */
function folded(frame: Frame): Frame {
  const [only, ...others] = frame.inside;
  const same = only !== undefined && others.length === 0 && only.inside.length > 0;
  return same ? folded(only) : frame;
}

/** The frames inside of one as bars, those narrower than `least` left out. */
export function barsOf(top: Frame, levels: number, least: number, fold: boolean): Bar[] {
  const bars: Bar[] = [];
  const add = (frames: readonly Frame[], from: number, level: number): void => {
    let left = from;
    for (const each of frames) {
      const frame = fold ? folded(each) : each;
      const width = top.us > 0 ? frame.us / top.us : 0;
      if (level < levels && width >= least) {
        bars.push({ frame, left, width, level });
        add(frame.inside, left, level + 1);
      }
      left += width;
    }
  };
  add(top.inside, 0, 0);
  return bars;
}
