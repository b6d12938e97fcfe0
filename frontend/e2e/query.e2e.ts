import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { page, test, visiting } from "./scene";

visiting("#/query?run=device", () => editor().waitFor());

const editor = (): Locator => page.locator(".cm-content");
const rows = (): Locator => page.getByRole("grid", { name: "Rows" }).locator(".table-row");

async function write(query: string): Promise<void> {
  await editor().click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(query);
  // A list of completions would take the next key.
  await page.keyboard.press("Escape");
}

test("a query is answered with rows and bars, and the address keeps it", async () => {
  await write("select name, calls from operators");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("region", { name: "Chart" }).waitFor();
  await expect.poll(() => rows().count()).toBeGreaterThan(1);
  expect(page.url()).toContain("sql=select+name");
  expect(await seriousFaults(page)).toEqual([]);
  await page.reload();
  await page.getByRole("region", { name: "Chart" }).waitFor();
});

test("of thousands of rows only those in sight are in the page", async () => {
  await write("select i, i * i as square from range(5000) t(i)");
  await page.keyboard.press("Control+Enter");
  const grid = page.getByRole("grid", { name: "Rows" });
  await expect.poll(() => grid.getAttribute("aria-rowcount")).toBe("5001");
  await expect.poll(() => rows().count()).toBeLessThan(100);
  await grid.focus();
  await page.keyboard.press("End");
  await page.getByRole("gridcell", { name: "4,999", exact: true }).waitFor();
});

test("an example is written into the editor", async () => {
  await page.getByLabel("Examples").selectOption("Calls that wait for the device");
  await expect.poll(() => editor().textContent()).toContain("from syncs");
});

test("a query is run by the keyboard; names are text", async () => {
  await write("select count(*) as n, '<b>a' as text from device_events");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("gridcell", { name: "<b>a" }).waitFor();
});

test("a mistake is one line that points at the word", async () => {
  await write("selec 1");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("alert").getByText("at 'selec'").waitFor();
});

test("names of tables and columns are completed", async () => {
  await write("select * from");
  await page.keyboard.type(" device_ev");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: "device_events" }).waitFor();
});

test("tables and columns are listed with what they mean", async () => {
  const tables = page.getByRole("region", { name: "Tables" });
  await tables.getByText("device_events", { exact: true }).click();
  await tables.locator("details[open]").getByText("duration_us", { exact: true }).waitFor();
});
