import { expect, test } from "vitest";

import { along, attainable, axesOf, labelsOf, roofLine, type Roof, tickText } from "./axes";

const ROOF: Roof = { name: "float16", peak: 100, gbPerS: 1000 };
const POINT = { id: 1, name: "mm", intensity: 20, rate: 5, us: 1, share: null };

test("the roof is memory's up to the ridge, then the peak", () => {
  expect(attainable(ROOF, 10)).toBe(10);
  expect(attainable(ROOF, 100)).toBe(100);
  expect(attainable(ROOF, 5000)).toBe(100);
});

test("axes are whole decades around points, ridges and peaks", () => {
  expect(axesOf([POINT], [ROOF])).toEqual({ x: [1, 2], y: [0, 2] });
  expect(axesOf([], [])).toEqual({ x: [0, 1], y: [0, 1] });
  expect(axesOf([{ ...POINT, intensity: 10, rate: 10 }], [])).toEqual({ x: [0, 2], y: [0, 2] });
});

test("places are logarithmic", () => {
  expect(along(10, [0, 2])).toBe(0.5);
  expect(roofLine(ROOF, { x: [0, 4], y: [0, 4] })).toEqual([
    [0, 0],
    [0.5, 0.5],
    [1, 0.5],
  ]);
});

test("every decade has a label of its own", () => {
  const labels = [-5, -4, -3, 0, 3].map(tickText);
  expect(labels).toEqual(["1e-5", "1e-4", "0.001", "1", "1,000"]);
});

test("labels of dots lie beside them, the most expensive first, none upon another or a dot", () => {
  const room = { width: 6, height: 12, right: 200 };
  const dot = { text: "gemm", x: 50, y: 50, r: 4, us: 2 };
  const left = { ...dot, text: "edge", x: 190, us: 3 };
  const found = labelsOf([{ ...dot, text: "less", us: 1 }, dot, left], room);
  expect(found.map(({ text, x }) => [text, x])).toEqual([
    ["edge", 160],
    ["gemm", 56],
    ["less", 20],
  ]);
  expect(labelsOf([dot, dot, dot], room)).toHaveLength(2);
  const near = { ...dot, text: "", x: 65, y: 58, us: 0 };
  expect(labelsOf([dot, near], room).map(({ x }) => x)).toEqual([20, 71]);
});
