import { type Place, placeFromHash, placeToHash } from "./place";

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

/** Where the place is written so that it can be copied, and what tells that it has changed there. */
interface AddressBar {
  readonly window: Window;
  /** The place's own hash, such as `#/syncs?run=vit`, out of the address. */
  hash: () => string;
  /** The address with that hash in it. */
  href: (hash: string) => string;
}

/**
 * The address bar that the reader sees: TensorBoard's, where the page is in a frame of it, else that
 * of this document.
 */
function addressBar(own: Window): AddressBar {
  const outer = own.location.pathname.endsWith(FRAME) ? sameOriginParent(own) : null;
  if (outer === null) {
    return {
      window: own,
      hash: () => own.location.hash,
      href: (hash) => withHash(own, hash),
    };
  }
  return {
    window: outer,
    hash: () => placeIn(outer.location.hash),
    href: (hash) => withHash(outer, withPlace(outer.location.hash, hash)),
  };
}

/** The document that TensorBoard loads into a plugin's frame. */
const FRAME = "/data/plugin_entry.html";

/** TensorBoard keeps `p.<plugin>.<key>` of its hash for plugins, whichever tab is shown. */
const KEY = "p.hookview.place";
const TAB = "hookview";

/** The place's hash in that of TensorBoard; "" where it holds none. */
export function placeIn(outer: string): string {
  const part = parts(outer).find((one) => one.startsWith(`${KEY}=`));
  if (part === undefined) return "";
  try {
    return `#${decodeURIComponent(part.slice(KEY.length + 1))}`;
  } catch {
    return "";
  }
}

/** TensorBoard's hash with the place in it: its tab first, then what other plugins keep there. */
export function withPlace(outer: string, hash: string): string {
  const others = parts(outer).filter((one) => !one.startsWith(`${KEY}=`));
  if (!others.some((one) => !one.includes("="))) others.unshift(TAB);
  return `#${[...others, `${KEY}=${encodeURIComponent(hash.replace(/^#/, ""))}`].join("&")}`;
}

function parts(hash: string): string[] {
  return hash
    .replace(/^#/, "")
    .split("&")
    .filter((part) => part !== "");
}

function withHash(of: Window, hash: string): string {
  const address = new URL(of.location.href);
  address.hash = hash;
  return address.href;
}

/** The window around this one; null where it is of another origin, which may not be read. */
function sameOriginParent(own: Window): Window | null {
  try {
    return own.parent !== own && own.parent.location.origin === own.location.origin
      ? own.parent
      : null;
  } catch {
    return null;
  }
}
