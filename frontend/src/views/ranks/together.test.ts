import { expect, test } from "vitest";

import { doubtOf, kindsOf, lanesOf, rowsTogether, ticksTogether, usedLanes } from "./together";

const SHOWN = {
  length_us: 256,
  transfer_us: 32,
  clock_spread_us: 8,
  ranks: [
    { rank: 0, own_start_us: 0, start_us: 64, wait_us: 96, late: false },
    { rank: 3, own_start_us: 0, start_us: 160, wait_us: 0, late: true },
  ],
};

test("a rank waits from when it came until the transfer, all end together", () => {
  const [first, late] = rowsTogether(SHOWN);
  expect(first).toEqual({
    rank: 0,
    late: false,
    waitUs: 96,
    cameUs: 0,
    wait: { from: 0.25, width: 0.375 },
    transfer: { from: 0.625, width: 0.125 },
  });
  expect(late).toMatchObject({ rank: 3, late: true, cameUs: 96, wait: { from: 0.625, width: 0 } });
  expect(late?.transfer).toEqual(first?.transfer);
});

test("what is out of sight is cut", () => {
  const long = { rank: 0, own_start_us: 0, start_us: -50, wait_us: 400, late: false };
  const [row] = rowsTogether({ ...SHOWN, ranks: [long] });
  expect(row?.wait).toEqual({ from: 0, width: 1 });
  expect(row?.transfer).toEqual({ from: 1, width: 0 });
});

test("the late module stands out, what is no module has the name of its kind", () => {
  const lanes = lanesOf(
    {
      lanes: [
        {
          name: "host",
          spans: [
            { start_us: 0, duration_us: 20, kind: "module", module: "a.b" },
            { start_us: 20, duration_us: 80, kind: "module", module: "a" },
            { start_us: 100, duration_us: 100, kind: "sync", module: null },
          ],
        },
      ],
    },
    200,
    "a",
  );
  expect(lanes[0]?.blocks).toEqual([
    { from: 0, width: 0.1, kind: "module", text: "a.b" },
    { from: 0.1, width: 0.4, kind: "late", text: "a" },
    { from: 0.5, width: 0.5, kind: "sync", text: "waits for its device" },
  ]);
  expect(kindsOf(lanes)).toEqual(["late", "module", "sync"]);
  expect(kindsOf([])).toEqual([]);
});

test("the doubt of the clocks is around the late arrival, none where it is unknown", () => {
  expect(doubtOf(SHOWN)).toEqual({ from: 0.59375, width: 0.0625 });
  expect(doubtOf({ ...SHOWN, clock_spread_us: null })).toBeNull();
  expect(doubtOf({ ...SHOWN, ranks: [] })).toBeNull();
});

test("ticks are round times after the first arrival", () => {
  const ticks = ticksTogether(SHOWN);
  expect(ticks.map(({ us }) => us)).toEqual([-50, 0, 50, 100, 150]);
  expect(ticks.map(({ at }) => Math.round(at * 256))).toEqual([14, 64, 114, 164, 214]);
  expect(ticksTogether({ ...SHOWN, length_us: 3_000_000 }).length).toBeLessThan(9);
});

test("a lane in which no rank ran anything is left out", () => {
  const block = { from: 0, width: 1, kind: "module" as const, text: "a" };
  const host = { name: "host", blocks: [block] };
  const idle = { name: "device", blocks: [] };
  expect(usedLanes([[host, idle], []])).toEqual([[host], []]);
  const device = { name: "device", blocks: [block] };
  expect(usedLanes([[host, idle], [device]])).toEqual([[host, idle], [device]]);
});
