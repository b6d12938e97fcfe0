import type { ReactElement } from "react";

import { colourOf, type Palette } from "../theme/colours";

export interface BarPart {
  key: string;
  us: number;
  colour: keyof Palette;
  /** Said when it is pointed at. */
  title: string;
}

interface StackedBarProps {
  parts: readonly BarPart[];
  /** What the full width stands for, in microseconds. */
  whole: number;
  height: number;
}

const fraction = (value: number): string => `${value * 100}%`;

/** Parts of a whole in one bar; the words next to it say the same. */
export function StackedBar({ parts, whole, height }: StackedBarProps): ReactElement {
  const byKey = new Map(parts.map((part) => [part.key, part]));
  return (
    <svg className="stacked-bar" width="100%" height={height} aria-hidden="true">
      {stack(parts, whole).map(({ key, start, length }) => {
        const part = byKey.get(key);
        return part === undefined ? null : (
          <rect
            key={key}
            x={fraction(start)}
            width={fraction(length)}
            height={height}
            style={{ fill: colourOf(part.colour) }}
          >
            <title>{part.title}</title>
          </rect>
        );
      })}
    </svg>
  );
}

export interface Stacked<Key> {
  readonly key: Key;
  /** From the left edge, in fractions of the width. */
  readonly start: number;
  readonly length: number;
}

/**
 * Parts of a bar one after another, `whole` being its full width; what is nothing is left out,
 * and what would not fit is cut at the edge.
 */
export function stack<Key>(
  parts: readonly { key: Key; us: number }[],
  whole: number,
): Stacked<Key>[] {
  const bars: Stacked<Key>[] = [];
  let at = 0;
  for (const { key, us } of parts) {
    const length = whole > 0 ? Math.min(us / whole, 1 - at) : 0;
    if (length > 0) bars.push({ key, start: at, length });
    at += Math.max(0, length);
  }
  return bars;
}

/** A share of a whole as a bar after a number; the number says the same. */
export function ShareBar({ share }: { share: number | null }): ReactElement {
  const width = `${Math.min(1, Math.max(0, share ?? 0)) * 100}%`;
  return (
    <svg className="part-bar" width="100%" height={6} aria-hidden="true">
      <rect width="100%" height={6} className="part-track" />
      <rect width={width} height={6} className="part-filled" />
    </svg>
  );
}
