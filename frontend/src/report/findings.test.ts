import { expect, test } from "vitest";

import { finding } from "../testing/findings";
import { priceText } from "./findings";

test("a price says what is known, and no more", () => {
  const price = (cost: number | null, gain: number | null): string =>
    priceText(finding({ cost_us_per_step: cost, gain_us_per_step: gain }), 100);
  expect(price(null, null)).toBe("The cost is unknown in this trace.");
  expect(price(0, 0)).toBe("Costs no device time in this trace.");
  expect(price(5, null)).toContain("what the fix gains is unknown");
  expect(price(5, 5)).toBe(
    "Costs 5.0 µs (5.0%) a step; without it a step would be 5.0 µs (5.0%) shorter.",
  );
  expect(price(5, 0)).toContain("without it a step would be no shorter");
  expect(price(0, 2)).toBe("Without it a step would be 2.0 µs (2.0%) shorter.");
  expect(price(null, 2)).toContain("unknown in this trace; without it a step would be 2.0 µs");
  expect(price(5, 2)).toContain("would be 2.0 µs (2.0%) shorter");
  expect(priceText(finding({ cost_us_per_step: 5 }), null)).toContain("Costs 5.0 µs a step");
});
