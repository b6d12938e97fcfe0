import { describe, expect, test } from "vitest";

import { PALETTES, paletteSheet, type Mode, type Palette } from "./colours";

/** Lowest contrast that is readable at our text sizes (WCAG 2, AA). */
const READABLE = 4.5;

function channels(hex: string): number[] {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
}

function luminance(rgb: number[]): number {
  const [r = 0, g = 0, b = 0] = rgb.map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: number[], b: number[]): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function mixed(top: string, bottom: string, percent: number): number[] {
  const below = channels(bottom);
  return channels(top).map((c, i) => (c * percent + (below[i] ?? 0) * (100 - percent)) / 100);
}

const TEXTS = [
  "text",
  "muted",
  "forwardText",
  "backwardText",
  "optimizerText",
  "dataText",
  "communicationText",
  "waitText",
] as const satisfies (keyof Palette)[];
const GROUNDS = ["page", "surface", "selected", "hover"] as const satisfies (keyof Palette)[];

describe.each(Object.keys(PALETTES) as Mode[])("in %s mode", (mode) => {
  const palette = PALETTES[mode];

  test.each(TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground] as const)))(
    "%s is readable on %s",
    (text, ground) => {
      expect(contrast(channels(palette[text]), channels(palette[ground]))).toBeGreaterThan(
        READABLE,
      );
    },
  );

  test("text is readable on the palest and on the deepest block", () => {
    for (const colour of [palette.forward, palette.backward, palette.communication]) {
      for (const share of [palette.shadeLeast, palette.shadeMost]) {
        const block = mixed(colour, palette.surface, share);
        expect(contrast(channels(palette.text), block)).toBeGreaterThan(READABLE);
      }
    }
    expect(contrast(channels(palette.onWait), channels(palette.wait))).toBeGreaterThan(READABLE);
  });
});

test("the sheet holds every colour of both modes", () => {
  const sheet = paletteSheet();
  expect(sheet).toContain(`--backward-text:${PALETTES.light.backwardText};`);
  expect(sheet).toContain(`--shade-most:${PALETTES.dark.shadeMost}%;`);
  expect(sheet.match(/--[a-z-]+:/g)).toHaveLength(2 * Object.keys(PALETTES.light).length);
});
