import type { ReactElement } from "react";

const KEYS: readonly [keys: string, does: string][] = [
  ["W S", "zoom"],
  ["A D", "pan"],
  ["drag", "select a stretch"],
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

/** What keys and mouse do. */
export function Hints(): ReactElement {
  return (
    <p className="hints" id="timeline-keys">
      {KEYS.map(([keys, does]) => (
        <span key={keys}>
          <kbd>{keys}</kbd> {does}
        </span>
      ))}
    </p>
  );
}
