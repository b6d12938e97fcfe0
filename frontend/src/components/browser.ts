import { type RefObject, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { flushSync } from "react-dom";

import { type Palette, PALETTES } from "../theme/colours";

/** Put text on the clipboard; false where the browser forbids it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or no clipboard: TensorBoard on another machine is not a secure origin.
    return copyByEvent(text);
  }
}

/** The way of before there was a clipboard interface, which needs no secure origin. */
function copyByEvent(text: string): boolean {
  const fill = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", fill, { once: true });
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else works there
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", fill);
  }
}

/** Select an element's text, so that the keyboard can copy it. */
export function selectText(element: HTMLElement): void {
  const selection = window.getSelection();
  selection?.selectAllChildren(element);
}

/** What this browser remembers for us, under names that begin with ours. */

const PREFIX = "hookview.";

/** What was stored last; null where the browser keeps nothing for us. */
export function readStored(key: string): string | null {
  try {
    return window.localStorage.getItem(PREFIX + key);
  } catch {
    // Storage may be forbidden by the browser's settings: then nothing is remembered.
    return null;
  }
}

export function store(key: string, value: string): void {
  try {
    window.localStorage.setItem(PREFIX + key, value);
  } catch {
    // As above; a full store is no reason to fail either.
  }
}

/** An element's width in pixels, updated as it changes. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = (): void => setWidth(element.clientWidth);
    // Before the first paint: the observer speaks only after it.
    measure();
    // In the frame that the width is new in, not in the next one.
    const observer = new ResizeObserver(() => flushSync(measure));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

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
