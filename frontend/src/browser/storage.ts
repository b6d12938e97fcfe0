const KEY = "hookview.run";

/** Name of the run looked at last; null where the browser keeps nothing for us. */
export function rememberedRun(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    // Storage may be forbidden by the browser's settings: then nothing is remembered.
    return null;
  }
}

export function rememberRun(name: string): void {
  try {
    window.localStorage.setItem(KEY, name);
  } catch {
    // As above; a full store is no reason to fail either.
  }
}
