import { placeFromHash, placeToHash, type Place } from "./place";

/**
 * The place, stored in the hash of this document's address: shareable where the page stands alone,
 * and inside TensorBoard's frame at least back and forward work.
 */
export class PlaceStore {
  private readonly listeners = new Set<() => void>();
  private hash = "";
  private place: Place;

  constructor(private readonly window: Window) {
    this.hash = window.location.hash;
    this.place = placeFromHash(this.hash);
    window.addEventListener("popstate", this.notify);
    window.addEventListener("hashchange", this.notify);
  }

  readonly get = (): Place => {
    const { hash } = this.window.location;
    if (hash !== this.hash) {
      this.hash = hash;
      this.place = placeFromHash(hash);
    }
    return this.place;
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Go to a changed place; `quietly` leaves no step in the browser's history. */
  readonly go = (change: Partial<Place>, quietly = false): void => {
    const href = this.href(change);
    if (href === this.window.location.href) return;
    if (quietly) this.window.history.replaceState(null, "", href);
    else this.window.history.pushState(null, "", href);
    this.notify();
  };

  /**
   * The full address of a changed place. A mere hash would not do: TensorBoard's frame has a base
   * address of another folder, against which the browser would resolve it.
   */
  readonly href = (change: Partial<Place>): string => {
    const address = new URL(this.window.location.href);
    address.hash = placeToHash({ ...this.get(), ...change });
    return address.href;
  };

  private readonly notify = (): void => {
    for (const listener of this.listeners) listener();
  };
}
