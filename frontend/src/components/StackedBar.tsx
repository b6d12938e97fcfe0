import type { ReactElement } from "react";

import { stack } from "./stack";
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

/** Parts of a whole beside one another; the words beside it say the same. */
export function StackedBar({ parts, whole, height }: StackedBarProps): ReactElement {
  const told = new Map(parts.map((part) => [part.key, part]));
  return (
    <svg className="stacked-bar" width="100%" height={height} aria-hidden="true">
      {stack(parts, whole).map(({ key, start, length }) => {
        const part = told.get(key);
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
