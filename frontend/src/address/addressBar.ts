/** Where the place is written so that it can be copied, and what tells that it has changed there. */
export interface AddressBar {
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
export function addressBar(own: Window): AddressBar {
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
