import { expect, test } from "vitest";

import { report, step, sync } from "../../testing/report";
import { forwardFigures } from "./Figures";

const steps = [
  step("1", { forward_us: 300, backward_us: 0, device_idle_us: 40, duration_us: 1000 }),
  step("2", { forward_us: 500, backward_us: 0, device_idle_us: 60, duration_us: 1000 }),
];

test("the forward is the device's where it has any, else the host's, a step", () => {
  const { totals } = report();
  const none = report({ steps, totals: { ...totals, forward_device_us: null } });
  expect(forwardFigures(none, "mean")).toMatchObject({ device: false, forward: 400, idle: 50 });
  const some = report({ steps, totals: { ...totals, forward_device_us: 700 } });
  expect(forwardFigures(some, "mean")).toMatchObject({ device: true, forward: 350 });
  expect(forwardFigures(some, "total")).toMatchObject({ forward: 700, idle: 100 });
});

test("syncs of any phase block the host; without any there is nothing to say", () => {
  expect(forwardFigures(report({ steps, syncs: [] }), "mean").blocked).toBeNull();
  const syncs = [
    sync({ phase: "forward", duration_us: 80 }),
    sync({ phase: "other", duration_us: 20 }),
  ];
  expect(forwardFigures(report({ steps, syncs }), "mean").blocked).toBe(50);
});
