import { describe, expect, test } from "vitest";

import {
  DEVICE_COLOURS,
  PALETTES,
  PATH_COLOURS,
  paletteSheet,
  type Mode,
  type Palette,
} from "./colours";

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

type Hue = Exclude<keyof Palette, "shadeLeast" | "shadeMost">;

/** How colours look without red or without green cones (Machado and others, 2009), and with all. */
const EYES = {
  all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  deuteranopia: [0.367, 0.861, -0.228, 0.28, 0.673, 0.047, -0.012, 0.043, 0.969],
  protanopia: [0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052],
};
const OKLAB_IN = [0.4122, 0.5363, 0.0514, 0.2119, 0.6807, 0.1074, 0.0883, 0.2817, 0.63];
const OKLAB_OUT = [0.2105, 0.7936, -0.0041, 1.978, -2.4286, 0.4506, 0.0259, 0.7828, -0.8087];
/** Lowest distance in Oklab, of 100 from black to white, at which parts of a bar can be distinguished. */
const APART = 7;

function times(matrix: number[], vector: number[]): number[] {
  return [0, 3, 6].map((row) =>
    vector.reduce((sum, value, at) => sum + value * (matrix[row + at] ?? 0), 0),
  );
}

function seen(hex: string, eye: number[]): number[] {
  const linear = channels(hex).map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4,
  );
  const cones = times(OKLAB_IN, times(eye, linear)).map((c) => Math.cbrt(Math.max(0, c)));
  return times(OKLAB_OUT, cones).map((c) => c * 100);
}

const DISTINCT: [what: string, names: readonly Hue[]][] = [
  ["idle causes", Object.values(DEVICE_COLOURS)],
  ["parts of the critical path", Object.values(PATH_COLOURS)],
];

test.each(
  DISTINCT.flatMap(([what, names]) =>
    (Object.keys(PALETTES) as Mode[]).map((mode) => ({ what, mode, names })),
  ),
)("$what can be distinguished by everyone, in $mode mode", ({ mode, names }) => {
  for (const [eye, matrix] of Object.entries(EYES)) {
    names.forEach((one, at) => {
      for (const other of names.slice(at + 1)) {
        const [a, b] = [one, other].map((name) => seen(PALETTES[mode][name], matrix));
        const distance = Math.hypot(...[0, 1, 2].map((i) => (a?.[i] ?? 0) - (b?.[i] ?? 0)));
        expect(distance, `${one} and ${other}, ${eye}`).toBeGreaterThan(APART);
      }
    });
  }
});

test.each(Object.keys(PALETTES) as Mode[])(
  "what nothing explains is far from all else on the critical path, in %s mode",
  (mode) => {
    const { unexplained, ...others } = PATH_COLOURS;
    for (const matrix of Object.values(EYES)) {
      const mine = seen(PALETTES[mode][unexplained], matrix);
      for (const other of Object.values(others)) {
        const theirs = seen(PALETTES[mode][other], matrix);
        expect(Math.hypot(...mine.map((at, i) => at - (theirs[i] ?? 0)))).toBeGreaterThan(
          2 * APART,
        );
      }
    }
  },
);

test("the sheet holds every colour of both modes", () => {
  const sheet = paletteSheet();
  expect(sheet).toContain(`--backward-text:${PALETTES.light.backwardText};`);
  expect(sheet).toContain(`--shade-most:${PALETTES.dark.shadeMost}%;`);
  expect(sheet.match(/--[a-z-]+:/g)).toHaveLength(2 * Object.keys(PALETTES.light).length);
});
