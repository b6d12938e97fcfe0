import type { Locator } from "playwright-core";
import { expect } from "vitest";

/** Wait until a canvas holds more colours than its ground and a few lines. */
export async function drawn(canvas: Locator, colours = 8): Promise<void> {
  await canvas.waitFor();
  await expect.poll(() => coloursOn(canvas)).toBeGreaterThan(colours);
}

function coloursOn(canvas: Locator): Promise<number> {
  return canvas.evaluate((element) => {
    const { width, height } = element as HTMLCanvasElement;
    const context = (element as HTMLCanvasElement).getContext("2d");
    const { data } = context?.getImageData(0, 0, width, height) ?? { data: new Uint8Array() };
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

/** What an address says of the place: `from` of `#/timeline?from=12`. */
export function parameter(address: string, name: string): string | null {
  return new URLSearchParams(new URL(address).hash.split("?")[1] ?? "").get(name);
}
