/** Holds what was used last, up to a total weight; the newest stays whatever it weighs. */
export class LruCache<T> {
  private readonly held = new Map<string, { value: T; weight: number }>();
  private total = 0;

  constructor(private readonly most: number) {}

  get weight(): number {
    return this.total;
  }

  has(key: string): boolean {
    return this.held.has(key);
  }

  /** The value, which thereby is the one used last. */
  use(key: string): T | undefined {
    const found = this.held.get(key);
    if (found === undefined) return undefined;
    this.held.delete(key);
    this.held.set(key, found);
    return found.value;
  }

  put(key: string, value: T, weight: number): void {
    this.drop(key);
    this.held.set(key, { value, weight });
    this.total += weight;
    for (const oldest of this.held.keys()) {
      if (this.total <= this.most || oldest === key) break;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    const found = this.held.get(key);
    if (found === undefined) return;
    this.held.delete(key);
    this.total -= found.weight;
  }
}
