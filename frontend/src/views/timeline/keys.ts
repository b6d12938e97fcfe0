import type { Direction } from "./data/hits";

/** What a key asks for. */
export type Command =
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
