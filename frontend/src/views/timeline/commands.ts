import { type RefObject, useEffect, useEffectEvent } from "react";

import type { Chart } from "./chart/chart";
import type { Direction } from "./data/hits";
import { panBy, zoomAt } from "./data/viewport";
import type { Actions } from "./useActions";

/** Keys of the whole view; what is typed into fields, or steers another part, is left alone. */
export function useCommands(
  chart: Chart | null,
  scroller: RefObject<HTMLElement | null>,
  actions: Actions,
  onSearch: () => void,
): void {
  const obey = useEffectEvent((event: KeyboardEvent) => {
    const command = commandOf(event);
    if (chart === null || command === null || event.defaultPrevented) return;
    if (!isOurs(event, scroller.current)) return;
    event.preventDefault();
    if (command.do === "search") onSearch();
    else carryOut(command, chart, scroller.current, actions);
  });
  useEffect(() => {
    document.addEventListener("keydown", obey);
    return () => document.removeEventListener("keydown", obey);
  }, []);
}

/** Letters are ours wherever nothing is typed; keys that scroll only upon the chart. */
function isOurs(event: KeyboardEvent, scroller: HTMLElement | null): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement) || target === document.body) return true;
  if (target.closest("input, select, textarea, dialog, [popover]") !== null) return false;
  return event.key.length === 1 || event.key === "Escape" || (scroller?.contains(target) ?? false);
}

function carryOut(
  command: Exclude<Command, { do: "search" }>,
  chart: Chart,
  scroller: HTMLElement | null,
  actions: Actions,
): void {
  const { shown, bounds } = chart;
  switch (command.do) {
    case "zoom":
      chart.show(zoomAt(shown, command.factor, chart.pointedTime, bounds), true);
      return;
    case "pan":
      chart.show(panBy(shown, command.share, bounds), true);
      return;
    case "scroll":
      scroller?.scrollBy({ top: command.pixels });
      return;
    case "select":
      actions.select(command.direction);
      return;
    case "fit":
      actions.fit();
      return;
    case "whole":
      actions.whole();
      return;
    case "mark":
      actions.mark();
      return;
    case "clear":
      actions.clear();
      return;
    case "nextHit":
      actions.hit(1);
      return;
    case "previousHit":
      actions.hit(-1);
      return;
  }
}

/** What a key asks for. */
type Command =
  | { do: "zoom"; factor: number }
  | { do: "pan"; share: number }
  | { do: "scroll"; pixels: number }
  | { do: "select"; direction: Direction }
  | { do: "search" }
  | { do: "fit" | "whole" | "mark" | "clear" | "nextHit" | "previousHit" };

const ZOOM = 0.65;
const PAN = 0.2;
const SCROLL = 60;

const COMMANDS = new Map<string, Command>(
  Object.entries({
    w: { do: "zoom", factor: ZOOM },
    "+": { do: "zoom", factor: ZOOM },
    "=": { do: "zoom", factor: ZOOM },
    s: { do: "zoom", factor: 1 / ZOOM },
    "-": { do: "zoom", factor: 1 / ZOOM },
    a: { do: "pan", share: -PAN },
    arrowleft: { do: "pan", share: -PAN },
    d: { do: "pan", share: PAN },
    arrowright: { do: "pan", share: PAN },
    pageup: { do: "scroll", pixels: -5 * SCROLL },
    pagedown: { do: "scroll", pixels: 5 * SCROLL },
    arrowup: { do: "scroll", pixels: -SCROLL },
    arrowdown: { do: "scroll", pixels: SCROLL },
    f: { do: "fit" },
    "0": { do: "whole" },
    home: { do: "whole" },
    "/": { do: "search" },
    m: { do: "mark" },
    escape: { do: "clear" },
    n: { do: "nextHit" },
  } satisfies Record<string, Command>),
);

const WITH_SHIFT = new Map<string, Command>(
  Object.entries({
    arrowleft: { do: "select", direction: "previous" },
    arrowright: { do: "select", direction: "next" },
    arrowup: { do: "select", direction: "above" },
    arrowdown: { do: "select", direction: "below" },
    n: { do: "previousHit" },
  } satisfies Record<string, Command>),
);

interface Pressed {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** What a key asks for; null where it is the browser's. */
export function commandOf({ key, shiftKey, ctrlKey, metaKey, altKey }: Pressed): Command | null {
  if (ctrlKey || metaKey || altKey) return null;
  const name = key.toLowerCase();
  return (shiftKey ? WITH_SHIFT.get(name) : undefined) ?? COMMANDS.get(name) ?? null;
}

/** What keys and mouse do in the timeline. */
export const TIMELINE_KEYS: readonly [keys: string, does: string][] = [
  ["W S", "zoom"],
  ["A D", "pan"],
  ["drag", "select a span"],
  ["shift+drag", "pan"],
  ["ctrl+wheel", "zoom"],
  ["shift+arrows", "move the selection"],
  ["F", "fit"],
  ["0", "all"],
  ["/", "search"],
  ["N", "next hit"],
  ["M", "mark"],
  ["Esc", "clear"],
];
