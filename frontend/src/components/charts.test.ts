import { expect, test } from "vitest";

import { random } from "../testing/random";
import { stack } from "./charts";

test("parts lie one after another, and none is larger than its share", () => {
  const next = random(3);
  for (let run = 0; run < 200; run++) {
    const parts = Array.from({ length: 1 + Math.floor(next() * 8) }, (_, key) => ({
      key,
      us: next() < 0.3 ? 0 : next() * 100,
    }));
    const sum = parts.reduce((all, { us }) => all + us, 0);
    const whole = sum * (1 + next());
    const bars = stack(parts, whole);
    expect(bars.map(({ key }) => key)).toEqual(
      parts.filter(({ us }) => us > 0).map(({ key }) => key),
    );
    let at = 0;
    for (const { key, start, length } of bars) {
      expect(start).toBeCloseTo(at, 9);
      expect(length).toBeCloseTo((parts[key]?.us ?? 0) / whole, 9);
      at += length;
    }
    expect(at).toBeLessThanOrEqual(1 + 1e-9);
  }
});

test("a bar never leaves its frame, and has no width without a share", () => {
  expect(
    stack(
      [
        { key: "a", us: 3 },
        { key: "b", us: 9 },
      ],
      6,
    ),
  ).toEqual([
    { key: "a", start: 0, length: 0.5 },
    { key: "b", start: 0.5, length: 0.5 },
  ]);
  expect(stack([{ key: "a", us: 3 }], 0)).toEqual([]);
});
