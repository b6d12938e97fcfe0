import { useEffect, useState, type ReactElement } from "react";

import { count, counted, duration } from "../../text/formats";
import type { Block } from "./data/hits";
import { lengthOf } from "../../text/span";
import { Name } from "../../components/Name";

export interface Hovered {
  block: Block;
  x: number;
  y: number;
}

/** Notifies one listener of what is pointed at, without drawing anything else again. */
export class HoverSource {
  private listener: ((hovered: Hovered | null) => void) | null = null;

  readonly listen = (listener: ((hovered: Hovered | null) => void) | null): void => {
    this.listener = listener;
  };

  readonly say = (hovered: Hovered | null): void => {
    this.listener?.(hovered);
  };
}

/** What is pointed at; what is selected has the same in text for everyone. */
export function Tooltip({
  source,
  meanings,
}: {
  source: HoverSource;
  meanings: readonly string[];
}): ReactElement | null {
  const [hovered, setHovered] = useState<Hovered | null>(null);
  useEffect(() => {
    source.listen(setHovered);
    return () => source.listen(null);
  }, [source]);
  if (hovered === null) return null;
  const { block, x, y } = hovered;
  const meaning = meanings[block.colour];
  return (
    <div className="chart-tooltip" style={{ left: x, top: y }} aria-hidden="true">
      <strong>
        {block.name === null ? (
          counted(block.count, "event")
        ) : (
          <Name text={block.name} className="wrap" />
        )}
      </strong>
      <span>
        {duration(lengthOf(block.span))}
        {meaning !== undefined && meaning !== "other" && (
          <span className="muted"> · {meaning}</span>
        )}
      </span>
      {block.count > 1 && (
        <span className="muted">
          {count(block.count)} events{block.name === null ? " of several names" : ""}, too short to
          be drawn apart: zoom in
        </span>
      )}
    </div>
  );
}
