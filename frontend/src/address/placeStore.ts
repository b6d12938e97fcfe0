import { addressBar, type AddressBar } from "./addressBar";
import { placeFromHash, placeToHash, type Place } from "./place";

/** The place, stored in the address that the reader sees, which can be copied and loaded again. */
export class PlaceStore {
  private readonly listeners = new Set<() => void>();
  private readonly bar: AddressBar;
  private hash: string;
  private place: Place;

  constructor(window: Window) {
    this.bar = addressBar(window);
    this.hash = this.bar.hash();
    this.place = placeFromHash(this.hash);
    this.bar.window.addEventListener("popstate", this.notify);
    this.bar.window.addEventListener("hashchange", this.notify);
    window.addEventListener("pagehide", this.forget);
    // The first address names the view, as all others do.
    if (this.hash === "") this.go({}, true);
  }

  readonly get = (): Place => {
    const hash = this.bar.hash();
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
    const { history, location } = this.bar.window;
    const href = this.href(change);
    if (href === location.href) return;
    // TensorBoard keeps a state of its own with each entry that it makes.
    if (quietly) history.replaceState(history.state, "", href);
    else history.pushState(null, "", href);
    this.notify();
  };

  /**
   * The full address of a changed place. A mere hash would not do: TensorBoard's frame has a base
   * address of another folder, against which the browser would resolve it.
   */
  readonly href = (change: Partial<Place>): string =>
    this.bar.href(placeToHash({ ...this.get(), ...change }));

  /** TensorBoard's window outlives the frame that listened to it. */
  private readonly forget = (): void => {
    this.bar.window.removeEventListener("popstate", this.notify);
    this.bar.window.removeEventListener("hashchange", this.notify);
  };

  private readonly notify = (): void => {
    for (const listener of this.listeners) listener();
  };
}
