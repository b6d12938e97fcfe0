import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { row } from "./browser";
import { adding, page, test, visiting } from "./scene";

const FORMULA = "=HYPERLINK(1)";

adding((logdir) => {
  logdir.addDevice("formula", [
    { path: "", className: "Net" },
    { path: "head", className: "Linear", syncUs: 500 },
    { path: FORMULA, className: "Linear" },
  ]);
});

visiting("#/modules?run=formula", () => row(page, "head").waitFor());

const header = (name: string): Locator => page.getByRole("columnheader", { name, exact: true });

async function width(of: Locator): Promise<number> {
  return (await of.boundingBox())?.width ?? 0;
}

async function drag(from: Locator, by: number): Promise<void> {
  const box = await from.boundingBox();
  if (box === null) throw new Error("not on the page");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + by, y, { steps: 4 });
  await page.mouse.up();
}

async function copied(format: string): Promise<string> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: `Copy ${format}` }).click();
  await page.getByText(`Copied as ${format}`).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

test("a column is as wide as it is dragged, cells and last row too, also after a reload", async () => {
  const total = header("device total");
  const before = await width(total);
  await drag(total.locator(".resize"), 60);
  expect(await width(total)).toBe(before + 60);
  expect(await width(row(page, "head").getByRole("gridcell").nth(2))).toBe(before + 60);
  expect(await width(page.locator(".table-foot [role=gridcell]").nth(2))).toBe(before + 60);
  expect(page.url()).not.toContain("sort");
  await page.reload();
  await row(page, "head").waitFor();
  expect(await width(total)).toBe(before + 60);
  await total.locator(".resize").dblclick();
  await expect.poll(() => width(total)).toBe(before);
});

test("the keyboard widens, narrows and resets a column", async () => {
  const calls = header("calls");
  const before = await width(calls);
  await calls.getByRole("button").focus();
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Shift+ArrowLeft");
  await expect.poll(() => width(calls)).toBe(before + 8);
  await page.keyboard.press("Shift+Home");
  await expect.poll(() => width(calls)).toBe(before);
});

test("rows are copied as CSV with raw numbers, and no name is a formula", async () => {
  const lines = (await copied("CSV")).split("\r\n");
  expect(lines[0]).toMatch(/^module,class,calls \(count\),device total \(us\),/);
  const cells = lines.find((line) => line.startsWith("head,"))?.split(",");
  expect(cells?.slice(0, 4)).toEqual(["head", "Linear", "1", "40"]);
  expect(lines.some((line) => line.startsWith(`'${FORMULA},`))).toBe(true);
});

test("what a search leaves is copied as Markdown, written as on the page", async () => {
  await page.getByRole("searchbox").fill("head");
  await page.getByText("1 found").waitFor();
  const lines = (await copied("Markdown")).split("\n");
  expect(lines[0]).toMatch(/^\| module \| class \| calls \| device total \|/);
  expect(lines.at(-1)).toMatch(/^\| head \| Linear \| 1 \| 40\.0 us \|/);
  expect(lines.some((line) => line.includes("HYPERLINK"))).toBe(false);
});

test("syncs are copied with their own numbers", async () => {
  await page.getByRole("link", { name: "Syncs" }).click();
  await page.locator(".table-body [role=row]").first().waitFor();
  const [head = "", line = ""] = (await copied("CSV")).split("\r\n");
  const column = head.split(",").indexOf("host blocked (us)");
  expect(line.split(",")[column]).toBe("500");
});
