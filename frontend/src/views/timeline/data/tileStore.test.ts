import { expect, test } from "vitest";

import { random } from "../../../testing/random";
import { LruCache } from "./tiles";

test("it holds what a list ordered by last use holds", () => {
  const next = random(7);
  const cache = new LruCache<number>(20);
  let slow: { key: string; weight: number }[] = [];
  for (let round = 0; round < 3000; round++) {
    const key = String(Math.floor(next() * 12));
    if (next() < 0.5) {
      const found = slow.find((one) => one.key === key);
      expect(cache.use(key) === undefined).toBe(found === undefined);
      if (found !== undefined) slow = [...slow.filter((one) => one !== found), found];
    } else {
      const weight = 1 + Math.floor(next() * 9);
      cache.put(key, round, weight);
      slow = [...slow.filter((one) => one.key !== key), { key, weight }];
      const sum = (): number => slow.reduce((total, one) => total + one.weight, 0);
      while (sum() > 20 && slow.length > 1) slow.shift();
      expect(cache.weight).toBe(sum());
    }
    for (const one of slow) expect(cache.has(one.key)).toBe(true);
  }
});

test("one that is too heavy is held by itself", () => {
  const cache = new LruCache<string>(5);
  cache.put("a", "a", 1);
  cache.put("b", "b", 50);
  expect(cache.use("a")).toBeUndefined();
  expect(cache.use("b")).toBe("b");
});
