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
