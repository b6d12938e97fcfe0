import type { EventDetail, EventLink, TimelineLane } from "../../api/schema";
import { clip } from "../../text/formats";

/** How much of an argument is shown. */
const MOST_CHARACTERS = 400;

/** Arguments of an event as texts, by name. */
export function argumentRows(args: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(args).map(([name, value]) => [
    name,
    clip(typeof value === "string" ? value : JSON.stringify(value), MOST_CHARACTERS),
  ]);
}

/** What a lane is called in a sentence. */
export function laneText(lanes: readonly TimelineLane[], id: string): string {
  const lane = lanes.find((one) => one.id === id);
  if (lane === undefined) return "no lane";
  const { group, title, subtitle } = lane;
  return subtitle === "" ? `${group} ${title}`.trim() : `${title}, ${subtitle}`;
}

/** Links by what they mean and what shows them, in the order in which the server has them. */
export function linkGroups(links: readonly EventLink[]): [string, EventLink[]][] {
  const groups = new Map<string, EventLink[]>();
  for (const link of links) {
    const meaning = meaningOf(link);
    const group = groups.get(meaning);
    if (group === undefined) groups.set(meaning, [link]);
    else group.push(link);
  }
  return [...groups];
}

function meaningOf({ relation, kind, evidence }: EventLink): string {
  const shown = [kind?.replaceAll("_", "-"), evidence === null ? null : `by ${evidence}`];
  const said = shown.filter((text) => text != null).join(", ");
  return said === "" ? relation : `${relation} (${said})`;
}

export interface ChainLine {
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
