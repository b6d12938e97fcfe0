import { expect, test } from "vitest";

import type { Idle } from "../../api/schema";
import {
  DEVICE_PARTS,
  labelledDevice,
  labelledPhases,
  partsText,
  stepBars,
  worthAWord,
} from "../../report/stepBars";
import { random } from "../../testing/random";
import { module, report, step, sync, work } from "../../testing/report";
import { classUnlessSame, stepLabel } from "../../text/names";
import { busyShare, summaryFigures } from "./SummaryFigures";
import { topModules } from "./tables";

const NO_IDLE: Idle = {
  sync: 0,
  data_loading: 0,
  copy: 0,
  allocator: 0,
  kernel_loading: 0,
  launch: 0,
  communication: 0,
  profiler: 0,
  device: 0,
  unknown: 0,
};

const noDevice = report({
  steps: [step("ProfilerStep#1", { device_busy_us: null, device_idle_us: null })],
  trace: { ...report().trace, devices: [] },
  totals: { ...report().totals, device_busy_us: {} },
});

function sum(parts: readonly { us: number }[]): number {
  return parts.reduce((all, { us }) => all + us, 0);
}

test("bars of a step sum to it, on the host and on each of several devices", () => {
  const next = random(11);
  const steps = Array.from({ length: 5 }, (_, at) => {
    const [forward = 0, backward = 0, optimizer = 0, data = 0, other = 0] = Array.from(
      { length: 5 },
      () => Math.round(next() * 100),
    );
    const duration = forward + backward + optimizer + data + other;
    const busy = Math.round(next() * 2 * duration);
    const unknown = Math.round(next() * (2 * duration - busy));
    return step(`ProfilerStep#${at}`, {
      duration_us: duration,
      forward_us: forward,
      backward_us: backward,
      optimizer_us: optimizer,
      data_us: data,
      other_us: other,
      device_busy_us: busy,
      device_idle_us: 2 * duration - busy,
      idle: { ...NO_IDLE, unknown, launch: 2 * duration - busy - unknown },
    });
  });
  const bars = stepBars(
    report({ steps, totals: { ...report().totals, device_busy_us: { "0": 1, "1": 1 } } }),
  );
  expect(bars.map(({ name }) => name)).toEqual([null, ...steps.map(({ name }) => name)]);
  for (const bar of bars) {
    expect(sum(bar.host)).toBeCloseTo(bar.duration, 6);
    expect(sum(bar.device ?? [])).toBeCloseTo(bar.duration, 6);
    expect(bar.device?.map(({ key }) => key)).toEqual(DEVICE_PARTS);
  }
});

test("a forward that the trace does not show has no part of a bar", () => {
  const unknown = step("a", { duration_us: 9, forward_us: null, backward_us: 4, other_us: 5 });
  const bars = stepBars(report({ steps: [unknown, unknown] }));
  for (const bar of bars) {
    expect(bar.host.map(({ key }) => key)).toEqual(["backward", "optimizer", "data", "other"]);
  }
});

test("one step needs no mean, none has no bar, and without a device there is no device's", () => {
  expect(stepBars(report()).map(({ name }) => name)).toEqual(["ProfilerStep#1"]);
  expect(stepBars(report({ steps: [] }))).toEqual([]);
  expect(stepBars(noDevice)[0]?.device).toBeNull();
  const mixed = report({
    steps: [step("a"), step("b", { device_busy_us: null, device_idle_us: null })],
  });
  expect(stepBars(mixed)[0]?.device).toBeNull();
  expect(stepLabel("ProfilerStep#12")).toBe("12");
  expect(stepLabel(null)).toBe("mean");
});

test("idle time whose cause is not in the trace is unknown", () => {
  const [bar] = stepBars(report());
  expect(bar?.device?.find(({ key }) => key === "unknown")?.us).toBe(20);
});

test("figures are null where unknown, and 0 where nothing happened", () => {
  expect(summaryFigures(report())).toEqual({
    step: 100,
    device: true,
    forward: 0.3,
    busy: 0.8,
    backward: 0.6,
    optimizer: 0.05,
    blocked: 0,
    blockedLooks: false,
  });
  expect(summaryFigures(noDevice)).toMatchObject({
    device: false,
    busy: null,
    blocked: null,
  });
  expect(summaryFigures(report({ steps: [] }))).toMatchObject({ step: null, busy: null });
  const forward = report({ steps: [step("a", { backward_us: 0 })] });
  expect(summaryFigures(forward).backward).toBeNull();
});

test("the profiler's own sync is not the training's", () => {
  const syncs = [sync({ duration_us: 3 }), sync({ cause: "profiler", duration_us: 90 })];
  expect(summaryFigures(report({ syncs: syncs }))).toMatchObject({
    blocked: 3,
    blockedLooks: true,
  });
  const two = report({ syncs: syncs, steps: [step("a"), step("b")] });
  expect(summaryFigures(two).blocked).toBe(1.5);
  expect(busyShare(two)).toBe(0.8);
});

test("legend entries say share and time; the smallest are left to the tooltip", () => {
  const parts = labelledPhases([
    { key: "forward", us: 9990 },
    { key: "data", us: 4 },
    { key: "optimizer", us: 0 },
  ]);
  expect(partsText(parts)).toBe("forward 9.99 ms (>99.9%), data 4.0 us (<0.1%)");
  expect(worthAWord(parts).map(({ key }) => key)).toEqual(["forward"]);
  expect(labelledDevice([]).length).toBe(0);
});

test("the top modules are the classes with the longest self time in the backward", () => {
  const top = topModules(report(), 2);
  expect(top.pass).toBe("backward");
  expect(top.rows.map(({ name, modules }) => [name, modules.length])).toEqual([
    ["Block", 2],
    ["Linear", 1],
  ]);
  expect(top.rows[0]).toMatchObject({ self: 6, share: 0.6 });
  expect(top.rest).toBe(1);
  const all = topModules(report(), 99).rows;
  expect(all.reduce((whole, { share }) => whole + (share ?? 0), 0)).toBeCloseTo(0.9);
});

test("without a backward the forward counts", () => {
  const forward = report({
    steps: [step("a", { backward_us: 0 })],
    modules: [module("a", null, { forward: work(7), backward: work(null) }), module("b", null)],
  });
  const top = topModules(forward, 5);
  expect([top.pass, top.measure, top.rest]).toEqual(["forward", "device", 0]);
  expect(top.rows.map(({ self }) => self)).toEqual([8]);
});

test("without a backward shares are of all that ran on the device but collectives", () => {
  const given = report({
    steps: [step("a", { backward_us: 0 })],
    coverage: { ...report().coverage, backward_device_us: 0, backward_host_us: 0 },
    modules: [module("a", null, { forward: work(8), backward: work(null) })],
  });
  const kinds = { matrix: 15, copy: 5, communication: 100 };
  const totals = { ...given.totals, device_us_by_kind: kinds };
  const unknown = { ...given, totals };
  const top = topModules(unknown, 5);
  expect([top.rest, top.rows[0]?.share]).toEqual([12, 0.4]);
});

test("a stack's label says its class", () => {
  expect(classUnlessSame(module("Linear_3", null))).toBe("");
  expect(classUnlessSame(module("Linear", null))).toBe("");
  expect(classUnlessSame(module("Linear_head", null))).toBe("Linear");
});
