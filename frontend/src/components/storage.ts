/** What this browser remembers for us, under names that begin with ours. */

const PREFIX = "hookview.";
const RUN = "run";

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

/** Name of the run looked at last. */
export function rememberedRun(): string | null {
  return readStored(RUN);
}

export function rememberRun(name: string): void {
  store(RUN, name);
}
