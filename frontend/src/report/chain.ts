import type { EventDetail, Sync } from "../api/schema";
import { duration } from "../text/formats";
import { pathText } from "../text/names";

export interface ChainLink {
  kind: "call" | "operator" | "node" | "module" | "frame" | "step";
  text: string;
  /** How far it is indented. */
  depth: number;
}

/** From the call outwards: operator, autograd node, module, Python frames, step and phase. */
export function chainOf(sync: Sync, classOf: (path: string) => string | null): ChainLink[] {
  const links: ChainLink[] = [];
  const add = (kind: ChainLink["kind"], text: string, deeper = true): void => {
    const above = links.at(-1)?.depth ?? -1;
    links.push({ kind, text, depth: deeper ? above + 1 : above });
  };
  add("call", sync.api);
  if (sync.operator !== null) add("operator", sync.operator);
  if (sync.node !== null) add("node", sync.node);
  if (sync.module !== null) add("module", moduleText(sync.module, classOf));
  // A stack is long: its frames stand below each other.
  for (const [index, frame] of sync.stack.entries()) add("frame", frame, index === 0);
  add("step", `${sync.step ?? "not in a step"}, ${sync.phase}`);
  return links;
}

/** What stands before a link: its indentation, as text that can be copied. */
export function chainIndent(depth: number): string {
  return depth === 0 ? "" : `${"  ".repeat(depth - 1)}└ `;
}

/** The chain as indented lines for pasting elsewhere. */
export function chainText(sync: Sync, classOf: (path: string) => string | null): string {
  return chainOf(sync, classOf)
    .map(({ text, depth }) =>
      depth === 0 ? `${text}  ${duration(sync.duration_us)}` : chainIndent(depth) + text,
    )
    .join("\n");
}

const FRAME = /^(.*)\((\d+)\): (.*)$/s;

/** The innermost line outside of torch: the one that can be changed; null without one. */
export function ownFrame(stack: readonly string[]): string | null {
  return stack.find((frame) => !isLibrary(frame)) ?? null;
}

export function isLibrary(frame: string): boolean {
  return /(^|[/\\])torch[/\\]/.test(frame) || frame.startsWith("<");
}

/** `train.py:60` of `src/train.py(60): step`; the frame itself where it has another form. */
export function frameLine(frame: string): string {
  const [, file, line] = FRAME.exec(frame) ?? [];
  return file === undefined || line === undefined
    ? frame
    : `${file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1)}:${line}`;
}

/** A frame with the last of its folders only, where there is no room for all of them. */
export function frameShort(frame: string): string {
  return frame.replace(/^.*[/\\](?=[^/\\]+[/\\][^/\\]+\(\d+\): )/s, "…/");
}

function moduleText(path: string, classOf: (path: string) => string | null): string {
  const className = classOf(path);
  return className === null ? pathText(path) : `${pathText(path)} (${className})`;
}

interface ChainLine {
  readonly indent: string;
  readonly kind: string;
  readonly text: string;
  /** null where it is no event that could be selected. */
  readonly id: number | null;
}

/** The event and what is around it, from the inside out; lines of Python are not indented further. */
export function chainLines(event: Pick<EventDetail, "name" | "chain">): ChainLine[] {
  const lines: ChainLine[] = [{ indent: "", kind: "call", text: event.name, id: null }];
  let depth = 0;
  event.chain.forEach(({ kind, text, id }, index) => {
    const goesOn = kind === "line" && event.chain[index - 1]?.kind === "line";
    if (!goesOn) depth += 1;
    lines.push({ indent: `${"  ".repeat(depth - 1)}└ `, kind, text, id });
  });
  return lines;
}
