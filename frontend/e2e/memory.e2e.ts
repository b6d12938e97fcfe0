import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { BLOCKS, MIB } from "./memoryTrace";
import { page, test, url, visiting } from "./scene";

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

test("each block is drawn, and the one pointed at says what allocated it", async () => {
  await page.getByRole("button", { name: "Each block" }).click();
  await expect.poll(() => page.url()).toContain("stack=block");
  await expect.poll(() => page.locator(".memory-block").count()).toBe(BLOCKS.length);
  await page
    .locator(".memory-block")
    .first()
    .hover({ position: { x: 4, y: 4 } });
  const note = page.locator(".memory-note");
  await expect.poll(() => note.innerText()).toContain("8.4 MB");
  await expect.poll(() => note.locator(".chain").innerText()).toContain("aten::empty");
  expect(await seriousFaults(page)).toEqual([]);
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
