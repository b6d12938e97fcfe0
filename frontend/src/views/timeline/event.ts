import type { WireLane, WireLink } from "../../api/types";
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
export function laneText(lanes: readonly WireLane[], id: string): string {
  const lane = lanes.find((one) => one.id === id);
  if (lane === undefined) return "no lane";
  const { group, title, subtitle } = lane;
  return subtitle === "" ? `${group} ${title}`.trim() : `${title}, ${subtitle}`;
}

/** Links by what they mean and what shows them, in the order in which the server has them. */
export function linkGroups(links: readonly WireLink[]): [string, WireLink[]][] {
  const groups = new Map<string, WireLink[]>();
  for (const link of links) {
    const meaning = meaningOf(link);
    const group = groups.get(meaning);
    if (group === undefined) groups.set(meaning, [link]);
    else group.push(link);
  }
  return [...groups];
}

function meaningOf({ relation, kind, evidence }: WireLink): string {
  const shown = [kind?.replaceAll("_", "-"), evidence === null ? null : `by ${evidence}`];
  const said = shown.filter((text) => text != null).join(", ");
  return said === "" ? relation : `${relation} (${said})`;
}
