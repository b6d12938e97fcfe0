import { expect } from "vitest";

import { seriousFaultsInModes } from "./axe";
import { runButton } from "./browser";
import { page, test, visiting } from "./scene";

visiting("#/modules?run=tiny", async () => {
  await runButton(page).click();
  await page.getByRole("listbox", { name: "Runs" }).waitFor();
});

const options = (): Promise<string[]> =>
  page.getByRole("dialog").getByRole("option").allTextContents();

test("runs are found by the words of their names, and chosen by the keyboard", async () => {
  const search = page.getByRole("combobox", { name: "Search runs" });
  expect(await search.evaluate((input) => input === document.activeElement)).toBe(true);
  await search.fill("sync one");
  await expect.poll(async () => (await options()).length).toBe(1);
  await search.press("Enter");
  await expect.poll(() => runButton(page).textContent()).toContain("one sync");
  expect(page.url()).toContain("run=one+sync");
});

test("what is not analyzed is a dash; Escape leads back", async () => {
  const rows = await options();
  expect(rows.length).toBeGreaterThan(5);
  for (const text of rows) expect(text).toMatch(/—|host|device|data|communication|even|unknown/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await runButton(page).evaluate((button) => button === document.activeElement)).toBe(true);
  expect(page.url()).toContain("run=tiny");
});

test("no serious fault found by axe in light and dark mode", async () => {
  expect(await seriousFaultsInModes(page)).toEqual([]);
});
