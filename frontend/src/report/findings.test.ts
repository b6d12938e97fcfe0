import { expect, test } from "vitest";

import { BASIS, finding } from "../testing/findings";
import { report } from "../testing/report";
import { alike, priceBasis, priceText, savingText } from "./findings";

test("a price says what is known, whose time it is, and no more", () => {
  const price = (cost: number | null, gain: number | null): string =>
    priceText(finding({ cost_us_per_step: cost, gain_us_per_step: gain }), BASIS);
  expect(price(null, null)).toBe("Its cost is unknown in this trace.");
  expect(price(0, 0)).toBe("It costs no device time in this trace.");
  expect(price(5, null)).toBe("Costs 5.0 us (5.0%) of device time per step. Saving not estimated.");
  expect(price(5, 5)).toBe(
    "Costs 5.0 us (5.0%) of device time per step. Estimated saving: 5.0 us (5.0%) per step.",
  );
  expect(price(5, 0)).toContain("No saving: off the critical path.");
  expect(price(null, 2)).toContain("Estimated saving: 2.0 us (2.0%) per step");
});

test("findings of layers are one", () => {
  const at = (where: string, rule = "one"): ReturnType<typeof finding> => finding({ where, rule });
  const groups = alike([at("L_0, x"), at("L_12, x"), at("L_0, x", "two"), at("Head, x")]);
  expect(groups.map((group) => group.length)).toEqual([2, 1, 1]);
});

test("what happens once is no time of a step", () => {
  const text = priceText(finding({ once_us: 5000, gain_us_per_step: null }), BASIS);
  expect(text).toBe("Takes 5.00 ms once; later steps do not spend it again.");
});

test("what saves nothing now says what has to get faster first", () => {
  const row = finding({ gain_us_per_step: 0, saves_after: "host" });
  expect(priceText(row, BASIS)).toBe(
    "Costs 10.0 us (10.0%) of device time per step. Next to no saving now: the host has to get faster first.",
  );
});

test("what recording hides is shown as an estimate", () => {
  const row = finding({
    gain_us_per_step: 0,
    unrecorded_gain_us_per_step: 4,
    gain_is_estimated: true,
  });
  expect(priceText({ ...row, gain_us_per_step: 6 }, BASIS)).toMatch(
    /; 6\.0 us \(6\.0%\) as recorded\.$/,
  );
  expect(priceText(row, BASIS)).toBe(
    "Costs 10.0 us (10.0%) of device time per step. Estimated saving without the profiler: 4.0 us (5.0%) per step.",
  );
});

test("what a fix saves is without the profiler where that makes a difference", () => {
  const said = (gain: number, unrecorded: number | null, estimated: boolean): string =>
    savingText(
      finding({
        gain_us_per_step: gain,
        unrecorded_gain_us_per_step: unrecorded,
        gain_is_estimated: estimated,
      }),
      BASIS,
    );
  expect(said(0, 4, true)).toBe("saves 4.0 us (5.0%) per step without the profiler (estimate)");
  expect(said(9, 4, true)).toBe("saves 4.0 us (5.0%) per step without the profiler (estimate)");
  expect(said(4.1, 4, false)).toBe("saves 4.1 us (4.1%) per step");
  expect(said(0, null, false)).toBe("no saving: off the critical path");
});

test("a gain above the cost has its reason", () => {
  const price = (cost: number, gain: number): string =>
    priceText(finding({ cost_us_per_step: cost, gain_us_per_step: gain }), BASIS);
  expect(price(0, 2)).toContain("2.0 us (2.0%) per step, as other work waits for it.");
  expect(price(5, 9)).toContain("9.0 us (9.0%) per step, as other work waits for it.");
  expect(price(5, 2)).toMatch(/2\.0 us \(2\.0%\) per step\.$/);
});

test("without a step there are no shares, and without a device it is the host's time", () => {
  const bare = { ...report(), trace: { ...report().trace, devices: [] } };
  expect(priceBasis(bare).of).toBe("host");
  expect(priceBasis(report()).of).toBe("device");
  const text = priceText(finding({ cost_us_per_step: 5 }), {
    ...BASIS,
    stepUs: null,
    laterUs: null,
    of: "host",
    per: "in this trace",
  });
  expect(text).toContain("Costs 5.0 us of host time in this trace.");
});

test("a later step is without what took time in this one", () => {
  const without = (unrecorded: number | null, once: number | null): string => {
    const verdict = { ...report().verdict, unrecorded_step_us: unrecorded, once_us: once };
    return priceBasis({ ...report(), verdict }).without;
  };
  expect(without(9, 0)).toBe("the profiler");
  expect(without(9, 2)).toBe("the profiler and kernel loading");
  expect(without(null, 2)).toBe("kernel loading");
});

test("shares are of the device's work where it runs behind the host", () => {
  const given = report();
  const behind = { ...given, verdict: { ...given.verdict, step_us: 23_000 } };
  behind.per_step = { ...given.per_step, duration_us: 2_000 };
  expect(priceBasis(behind).stepUs).toBe(23_000);
  const ahead = { ...behind, verdict: { ...given.verdict, step_us: null } };
  expect(priceBasis(ahead).stepUs).toBe(2_000);
});
