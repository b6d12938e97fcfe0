/** Colours as numbers, for what no style sheet reaches. */

export type Rgb = readonly [red: number, green: number, blue: number];

/** `#rrggbb` as bytes. */
export function bytesOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** A share of a colour on a ground. */
export function mixed(ground: Rgb, colour: Rgb, share: number): Rgb {
  const between = (at: 0 | 1 | 2): number =>
    Math.round(ground[at] + (colour[at] - ground[at]) * share);
  return [between(0), between(1), between(2)];
}

/** Of two colours the one that is easier to read on a third. */
export function readableOn(ground: Rgb, one: string, other: string): string {
  const contrast = (ink: string): number => {
    const [a, b] = [luminance(bytesOf(ink)), luminance(ground)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  return contrast(one) >= contrast(other) ? one : other;
}

/** How light a colour is, as WCAG 2 defines it. */
function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((byte) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
