import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { adding, page, test, url, visiting } from "./scene";

/** Allocations of a training step: rows as torch writes them with profile_memory. */
const MIB = 2 ** 20;
interface Block {
  at: number;
  until: number | null;
  size: number;
}
const BLOCKS: readonly Block[] = [
  { at: 20, until: 480, size: 8 * MIB },
  { at: 60, until: 90, size: 2 * MIB },
  { at: 120, until: 400, size: 4 * MIB },
  { at: 520, until: null, size: MIB },
];

function memoryTrace(): unknown {
  const rows = BLOCKS.flatMap(({ at, until, size }, index) => [
    { ts: at, size, address: 4096 * (index + 1) },
    ...(until === null ? [] : [{ ts: until, size: -size, address: 4096 * (index + 1) }]),
  ]).sort((a, b) => a.ts - b.ts);
  let live = 0;
  const memory = rows.map(({ ts, size, address }) => {
    live += size;
    return {
      ...{ ph: "i", cat: "cpu_instant_event", s: "t", name: "[memory]", pid: 1, tid: 1, ts },
      args: {
        ...{ "Total Reserved": 0, "Total Allocated": live, Bytes: size, Addr: address },
        ...{ "Device Id": -1, "Device Type": 0, "Ev Idx": ts },
      },
    };
  });
  const work = (name: string, ts: number, dur: number): unknown => ({
    ...{ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts, dur, args: {} },
  });
  const step = { ph: "X", cat: "user_annotation", name: "ProfilerStep#1", pid: 1, tid: 1 };
  return {
    traceEvents: [
      { ...step, ts: 0, dur: 600, args: {} },
      work("aten::empty", 15, 60),
      work("aten::linear", 110, 40),
      work("aten::add_", 510, 40),
      ...memory,
    ],
  };
}

adding((logdir) => {
  logdir.addFile("memory/cpu.1.pt.trace.json", JSON.stringify(memoryTrace()));
});

visiting("#/memory?run=memory", () => page.locator(".memory-chart").waitFor());

const table = (): ReturnType<typeof page.locator> => page.locator(".memory-table");

interface Answer {
  peaks: { allocated_bytes: number; time_us: number }[];
  devices: string[];
}

test("the peak is the most of the curve, as the server adds it up", async () => {
  const asked = `${url}api/memory?run=memory&worker=cpu`;
  const answer = (await (await fetch(asked)).json()) as Answer;
  expect(answer.devices).toEqual(["cpu"]);
  expect(answer.peaks[0]?.allocated_bytes).toBe(12 * MIB);
  const figures = page.locator(".figures");
  await expect.poll(() => figures.innerText()).toContain("12.6 MB");
});

test("blocks are listed a page at a time, and a table is in the address", async () => {
  await page.getByRole("button", { name: "Blocks" }).click();
  await expect.poll(() => page.url()).toContain("list=blocks");
  await expect.poll(() => table().locator("tbody tr").count()).toBe(BLOCKS.length);
  await page.reload();
  await expect.poll(() => table().locator("tbody tr").count()).toBe(BLOCKS.length);
  expect(await seriousFaults(page)).toEqual([]);
});

test("every table has no serious fault, and is reached by the keyboard", async () => {
  for (const name of ["Longest-lived activations", "Blocks", "Operators", "At the peak"]) {
    const button = page.getByRole("button", { name, exact: true });
    await button.focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => button.getAttribute("aria-pressed")).toBe("true");
    expect(await seriousFaults(page)).toEqual([]);
  }
});

test("the peak leads to its moment in the timeline", async () => {
  await page.getByRole("link", { name: "Show it in the timeline" }).click();
  await expect.poll(() => page.url()).toContain("#/timeline");
});

test("a trace without memory says how to record it", async () => {
  await page.goto(`${url}#/memory?run=device`);
  await page.getByText("This trace has no memory events").waitFor();
  await page.getByText("profile_memory=True", { exact: false }).first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});
