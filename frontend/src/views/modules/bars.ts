import { MOST_PATHS, type WireBars } from "../../api/module";

/** Rows come into sight one by one; this long they are waited for, to be asked for together. */
const WAIT_MS = 40;

type Load = (paths: readonly string[]) => Promise<WireBars>;

/** What calls cost over time, of the modules whose rows have come into sight. */
export class Bars {
  private readonly known = new Map<string, readonly number[]>();
  private readonly asked = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private waiting: string[] = [];

  constructor(private readonly load: Load) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  /** null until the answer is there. */
  get(path: string): readonly number[] | null {
    return this.known.get(path) ?? null;
  }

  want(path: string): void {
    if (this.asked.has(path)) return;
    this.asked.add(path);
    if (this.waiting.length === 0) {
      setTimeout(() => {
        this.ask();
      }, WAIT_MS);
    }
    this.waiting.push(path);
  }

  private ask(): void {
    const wanted = this.waiting;
    this.waiting = [];
    for (let at = 0; at < wanted.length; at += MOST_PATHS) {
      // The bars are an extra: where they cannot be had, the table is whole without.
      this.load(wanted.slice(at, at + MOST_PATHS)).then(
        (answer) => {
          for (const [path, bars] of Object.entries(answer)) this.known.set(path, bars);
          for (const listener of this.listeners) listener();
        },
        () => undefined,
      );
    }
  }
}
