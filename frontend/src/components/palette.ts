import { useSyncExternalStore } from "react";

import { PALETTES, type Palette } from "../theme/colours";

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-mode"] });
  return () => observer.disconnect();
}

const current = (): Palette =>
  PALETTES[document.documentElement.dataset.mode === "dark" ? "dark" : "light"];

/** The colours that hold now, for what no style sheet reaches. */
export function usePalette(): Palette {
  return useSyncExternalStore(subscribe, current);
}
