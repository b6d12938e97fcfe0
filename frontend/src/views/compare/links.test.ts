import { expect, test } from "vitest";

import type { Sync } from "../../api/schema";
import { report, step, sync } from "../../testing/report";
import { syncPlace, syncsAt } from "./rows";

test("the longest sync of a call site, in the steps that are compared", () => {
  const site = {
    module: "head",
    module_id: 4,
    node: null,
    operator: "aten::item",
    frame: "a.py(1): f",
  };
  const stack = ["torch/x.py(3): g", site.frame];
  const at = (step: string, us: number, rest: Partial<Sync> = {}): Sync =>
    sync({
      ...rest,
      cause: "x",
      module: "head",
      operator: "aten::item",
      node: null,
      stack,
      step,
      duration_us: us,
    });
  const given = report({
    steps: [step("s1", { counts: false }), step("s2")],
    syncs: [
      at("s1", 5),
      at("s1", 7),
      at("s2", 9),
      { ...at("s1", 99), stack: [] },
      { ...at("s1", 99), module: null },
      { ...at("s1", 99), cause: "y" },
    ],
  });
  expect(syncsAt(given, "x", site, ["s1"])).toMatchObject({
    count: 2,
    longest: { duration_us: 7 },
  });
  expect(syncsAt(given, "x", site, [])).toMatchObject({ count: 1, longest: { duration_us: 9 } });
  expect(syncsAt(given, "x", site, ["s1", "s2"])).toMatchObject({ count: 3 });
  expect(syncsAt(given, "x", site, ["s3"])).toBeNull();
  expect(syncsAt(given, "x", { ...site, frame: null }, ["s1"])?.longest.duration_us).toBe(99);
});

test("a sync is shown in the timeline of its own side", () => {
  const side = { run: "r", worker: "w", trace: "1", steps: [] };
  const given = report({});
  const place = syncPlace(
    given,
    side,
    sync({ start_us: given.trace.start_us + 10, duration_us: 5 }),
  );
  expect(place).toMatchObject({ view: "timeline", run: "r", worker: "w", trace: "1" });
  expect(place).toMatchObject({ event: "0", range: null });
});
