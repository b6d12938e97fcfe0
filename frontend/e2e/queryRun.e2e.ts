import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { parameter } from "./canvas";
import { seriousFaults } from "./axe";
import { page, test, visiting } from "./scene";

visiting("#/query?run=late", () => editor().waitFor());

const editor = (): Locator => page.locator(".cm-content");
const cells = (): Promise<string[]> =>
  page.getByRole("grid", { name: "Rows" }).getByRole("gridcell").allTextContents();
const RANKS = ["rank0", "4", "rank1", "4", "rank2", "4", "rank3", "4"];
const scope = (name: RegExp): Locator =>
  page.getByRole("group", { name: "Ask" }).getByRole("button", { name });
const run = (): Promise<void> => page.getByRole("button", { name: "Run", exact: true }).click();

async function write(query: string): Promise<void> {
  await editor().click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(query);
  // A list of completions would take the next key.
  await page.keyboard.press("Escape");
}

async function askTheRun(query: string): Promise<void> {
  await scope(/Whole run/).click();
  await page
    .getByRole("region", { name: "Tables" })
    .getByText("stragglers", { exact: true })
    .waitFor();
  await write(query);
  await run();
}

test("the whole run answers with a row for each rank, and the address keeps that", async () => {
  await scope(/Whole run \(4 ranks\)/).waitFor();
  await askTheRun("select worker, count(*) as n from steps group by worker order by worker");
  await expect.poll(cells).toEqual(RANKS);
  expect(parameter(page.url(), "scope")).toBe("run");
  expect(await seriousFaults(page)).toEqual([]);
  await page.reload();
  await expect.poll(cells).toEqual(RANKS);
});

test("the same question of one trace", async () => {
  await askTheRun("select count(*) as n from steps");
  await expect.poll(cells).toEqual(["16"]);
  await scope(/This trace/).click();
  await expect.poll(cells).toEqual(["4"]);
  expect(parameter(page.url(), "scope")).toBeNull();
});

test("what the run says as a whole is asked by an example", async () => {
  await scope(/Whole run/).click();
  await page.getByLabel("Examples").selectOption("Stragglers");
  await expect.poll(() => editor().textContent()).toContain("from stragglers");
  await run();
  await page.getByRole("gridcell", { name: "2", exact: true }).waitFor();
});

test("every example of a run has an answer", async () => {
  await scope(/Whole run/).click();
  const examples = page.getByLabel("Examples");
  await expect.poll(() => examples.textContent()).toContain("Stragglers");
  const titles = await examples.locator("option:not([disabled])").allTextContents();
  expect(titles.length).toBeGreaterThan(3);
  for (const title of titles) {
    await examples.selectOption(title);
    const chosen = await editor().evaluate((element) => (element as HTMLElement).innerText);
    await run();
    await expect.poll(() => parameter(page.url(), "sql")).toBe(chosen);
    await expect.poll(() => page.locator("section[aria-label=Answer]").count()).toBe(1);
    await page.locator("section[aria-label=Answer][aria-busy=false]").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  }
});

test("names of tables of a run and the column of the trace are completed", async () => {
  await scope(/Whole run/).click();
  await page
    .getByRole("region", { name: "Tables" })
    .getByText("stragglers", { exact: true })
    .waitFor();
  await write("select * from strag");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: "stragglers", exact: true }).waitFor();
});

test("a run of one trace has nothing to choose", async () => {
  await page.goto(page.url().replace(/#.*/, "#/query?run=alone"));
  await editor().waitFor();
  await expect.poll(() => page.getByRole("group", { name: "Ask" }).count()).toBe(0);
});
