import type { Mode } from "./colours";

/** TensorBoard marks its own document's body so when its dark mode is on. */
const DARK_CLASS = "dark-mode";

/** Set the mode now and at every change; returns what stops it. */
export function followMode(root: HTMLElement): () => void {
  const host = hostBody();
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const dark = host === null ? preference.matches : host.classList.contains(DARK_CLASS);
    const mode: Mode = dark ? "dark" : "light";
    root.dataset.mode = mode;
  };
  apply();
  preference.addEventListener("change", apply);
  const observer = new MutationObserver(apply);
  if (host !== null) observer.observe(host, { attributes: true, attributeFilter: ["class"] });
  return () => {
    preference.removeEventListener("change", apply);
    observer.disconnect();
  };
}

/** The body of the document we are embedded in; null when alone or when it is not ours to read. */
function hostBody(): HTMLElement | null {
  if (window.parent === window) return null;
  try {
    return window.parent.document.body;
  } catch {
    // A frame of another origin: its colours are not ours to know.
    return null;
  }
}
