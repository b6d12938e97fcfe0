import { clip } from "../text/formats";
import type { View } from "../address/place";

const MOST = 80;

/** The page's title, for tabs and history: which view of which run. */
export function pageTitle(view: View, run: string): string {
  const name = view.charAt(0).toUpperCase() + view.slice(1);
  // A run's name keeps its writing direction to itself.
  return `${name} · \u2068${clip(run, MOST)}\u2069 · HookView`;
}
