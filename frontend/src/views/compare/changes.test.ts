import { describe, expect, test } from "vitest";

import {
  bytesChange,
  compareHeadline,
  cutText,
  moreLostInSyncs,
  noiseText,
  rangeText,
} from "./changes";
import { ofTrace, type Definition } from "../../text/definitions";
import { COMPARE_DEFINITIONS, COMPARE_TOTAL_DEFINITIONS } from "./definitions";
import { comparison, moduleChange, pair, syncChange } from "./testing";

test("lists that were cut are named, with how many rows they lost", () => {
  expect(cutText({})).toBeNull();
  expect(cutText({ "comparison.modules": 1200, "comparison.findings": 3 })).toMatch(
    /the last 1,200 modules, 3 findings are in the sums and not in the tables/,
  );
});

test("traces that mark no steps are not spoken of as steps", () => {
  const side = { ...comparison().base, marked: false };
  const compared = comparison({ base: side, other: side, step_us: pair(100, 50), speedup: 2 });
  expect(compareHeadline(compared)).toMatch(/^trace 100\.0 → 50\.0 us/);
  const definitions = [COMPARE_TOTAL_DEFINITIONS, COMPARE_DEFINITIONS].flatMap(
    (group): Definition[] => Object.values(group),
  );
  const words = definitions.map(({ title, text }) => ofTrace(`${title}: ${text}`));
  expect(words.filter((text) => /\bsteps?\b/.test(text))).toEqual([]);
});

describe("the headline", () => {
  const faster = { step_us: pair(260_000, 140_000), speedup: 260 / 140 };

  test("says from, to, how many times, and what went with it", () => {
    const compared = comparison({
      ...faster,
      sync_sites: [
        syncChange("gather", pair(118_400, 0), {
          base_site: {
            module: "patch_drop",
            module_id: 0,
            node: null,
            operator: null,
            frame: null,
          },
          other_site: null,
        }),
      ],
      modules: [moduleChange("patch_drop", pair(2600, 2000))],
    });
    expect(compareHeadline(compared)).toBe(
      "step 260.0 → 140.0 ms (1.86×): 118.4 ms less host blocked in patch_drop",
    );
  });

  test("names a second reason of another sort, and what went the other way", () => {
    const compared = comparison({
      step_us: pair(150_000, 140_000),
      speedup: 150 / 140,
      idle_us: {
        data_loading: pair(30_000, 0),
        sync: pair(29_000, 0),
        unknown: pair(0, 14_000),
      },
      device_us_by_kind: { matrix: pair(40_000, 30_000) },
    });
    expect(compareHeadline(compared)).toBe(
      "step 150.0 → 140.0 ms (1.07×): 30.00 ms less device idle (data loading), " +
        "10.00 ms less GEMM time on the device, but 14.00 ms more device idle for unknown reasons",
    );
  });

  test("where the device waited for launches, it is what the host did", () => {
    const compared = comparison({
      step_us: pair(97_300, 12_300),
      speedup: 97.3 / 12.3,
      idle_us: { launch: pair(80_000, 2_000) },
      phases_us: { forward: pair(85_000, 2_000), backward: pair(6_000, 7_000) },
    });
    expect(compareHeadline(compared)).toMatch(/: 83\.00 ms less forward time on the host$/);
    const alone = { ...compared, phases_us: { forward: pair(3_000, 2_000) } };
    expect(compareHeadline(alone)).toMatch(/: 78\.00 ms less device idle \(launch-bound\)$/);
  });

  test("a slower step is explained by what grew", () => {
    const compared = comparison({
      step_us: pair(100, 200),
      speedup: 0.5,
      modules: [moduleChange("head", pair(10, 90)), moduleChange("body", pair(30, 10))],
    });
    expect(compareHeadline(compared)).toBe(
      "step 100.0 → 200.0 us (2.00× as long): 80.0 us more device time in head",
    );
  });

  test("syncs of one module count together", () => {
    const compared = comparison({
      ...faster,
      sync_sites: [
        syncChange("a", pair(60_000, 10_000)),
        syncChange("b", pair(40_000, 0)),
        syncChange("c", pair(80_000, 0), {
          base_site: { module: null, module_id: null, node: null, operator: null, frame: null },
          other_site: null,
        }),
      ],
    });
    expect(compareHeadline(compared)).toContain(": 90.00 ms less host blocked in head");
  });

  test("without a device the host's phases explain it", () => {
    const compared = comparison({
      ...faster,
      device_busy_us: pair(null, null),
      idle_us: {},
      phases_us: { data: pair(120_000, 0) },
    });
    expect(compareHeadline(compared)).toContain(": 120.0 ms less data time on the host");
  });

  test("what did not change is said to be so, and no step has no time", () => {
    expect(compareHeadline(comparison())).toBe("step 100.0 → 100.0 us: as long as before");
    const none = comparison({ step_us: pair(null, 100), speedup: null });
    expect(compareHeadline(none)).toBe("One of the sides has no steps.");
  });
});

test("syncs lose the idle time of the devices, and the host's time where that is unknown", () => {
  const lost = (idle: ReturnType<typeof pair>): number | null =>
    moreLostInSyncs(
      comparison({
        sync_blocked_us: pair(0, 50_000),
        sync_sites: [syncChange("gather", pair(0, 50_000), { device_idle_us: idle })],
      }),
    );
  expect(lost(pair(0, 0))).toBe(0);
  expect(lost(pair(0, 20_000))).toBe(20_000);
  expect(lost({ base: null, other: null, change: null })).toBe(50_000);
});

test("a difference within noise says so, with the range of both sides", () => {
  const base = { median_us: 22, min_us: 20, max_us: 24 };
  const noisy = { base, other: { median_us: 23, min_us: 21, max_us: 25 }, within_noise: true };
  expect(noiseText(pair(22, 23), noisy)).toBe(", within noise");
  expect(noiseText(pair(22, 22), noisy)).toBe("");
  expect(noiseText(pair(22, 23), { ...noisy, within_noise: null })).toBe("");
  expect(noiseText(pair(22, 23), undefined)).toBe("");
  expect(rangeText({ ...noisy, other: null })).toMatch(
    /^ Before: median 22\.0 .s, 20\.0 .s to 24\.0 .s\.$/,
  );
});

test("a difference of bytes has a sign", () => {
  expect([bytesChange(null), bytesChange(0)]).toEqual(["\u2014", "0"]);
  expect(bytesChange(-2e6)).toMatch(/^\u2212.*MB$/);
});
