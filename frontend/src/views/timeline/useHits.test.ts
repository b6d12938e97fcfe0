import { expect, test } from "vitest";

import { foundText, hitAfter } from "./useHits";

const hits = [10, 20, 30].map((start, id) => ({ id, start }));
const shown = { from: 15, to: 25 };

test("from hit to hit, round and round", () => {
  expect(hitAfter(hits, "0", shown, 1)?.id).toBe(1);
  expect(hitAfter(hits, "2", shown, 1)?.id).toBe(0);
  expect(hitAfter(hits, "0", shown, -1)?.id).toBe(2);
});

test("with another event selected, from what is in view", () => {
  expect(hitAfter(hits, "77", shown, 1)?.id).toBe(1);
  expect(hitAfter(hits, null, shown, -1)?.id).toBe(1);
  expect(hitAfter(hits, null, { from: 40, to: 50 }, 1)?.id).toBe(0);
  expect(hitAfter([], null, shown, 1)).toBeNull();
});

test("how a search went", () => {
  expect(foundText(hits, null, null)).toBeNull();
  expect(foundText([], 0, null)).toBe("none found");
  expect(foundText(hits, 3, null)).toBe("3 found");
  expect(foundText(hits, 3, "1")).toBe("2 of 3");
  expect(foundText(hits, 9, "1")).toBe("2 of 9");
});
