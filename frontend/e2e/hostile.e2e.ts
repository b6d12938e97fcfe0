import { describe, expect } from "vitest";

import { VIEWS } from "../src/address/place";
import { page, serving, settled, test, url, visit, visitingOnce } from "./scene";

const MARKUP = `<img src=x onerror="document.title='taken'">`;
const RIGHT_TO_LEFT = "\u202Eطبقة";
const LONG = "k".repeat(10_000);

serving((logdir) => {
  logdir.addDevice(MARKUP.replaceAll("/", ""), [
    { path: MARKUP, className: "<script>alert(1)</script>", syncUs: 500, kernel: MARKUP },
    { path: RIGHT_TO_LEFT, className: "Linear", kernel: RIGHT_TO_LEFT, syncUs: 300 },
    { path: LONG, className: LONG, kernel: LONG, syncUs: 400 },
    { path: "constructor", className: "__proto__" },
  ]);
});

test("names out of a trace are text, whatever they hold", async () => {
  await visit("#/modules");
  const cell = page.locator(".table-body [role=row]", { hasText: MARKUP });
  await cell.waitFor();
  await cell.click();
  const panel = page.getByRole("complementary", { name: "Module" });
  await panel.getByRole("heading", { name: MARKUP }).waitFor();
  await panel.getByRole("link", { name: "Show in Syncs" }).click();
  await page.locator(".table-body [role=row]").first().click();
  expect(await page.locator(".chain").innerText()).toContain(MARKUP);
  expect(await page.locator("img, script:not([src])").count()).toBe(0);
  expect(await page.title()).toBe(`Syncs · \u2068${MARKUP.replaceAll("/", "")}\u2069 · HookView`);
});

test("long and right-to-left names keep to their cells", async () => {
  await visit("#/modules");
  const names = page.locator(".table-body [role=row] bdi.code");
  await names.first().waitFor();
  const texts = await names.allTextContents();
  expect(texts).toContain(RIGHT_TO_LEFT);
  expect(texts).toContain("constructor");
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(400);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBe(1280);
  await page.locator(".table-body [role=row]", { hasText: "kkkk" }).click();
  await page.getByRole("complementary", { name: "Module" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1280);
});

describe("each view", () => {
  visitingOnce("", settled);

  test.each(VIEWS)("%s makes no markup of names, and is no wider for them", async (view) => {
    await page.goto(`${url}#/${view}`);
    await settled();
    const rows = page.locator(".table-body [role=row]");
    if ((await rows.count()) > 1) await rows.nth(1).click();
    await settled();
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(await page.title()).not.toBe("taken");
    const size = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(size).toBe(1280);
    const longest = await page.evaluate(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      let most = 0;
      while (walker.nextNode() !== null) {
        most = Math.max(most, walker.currentNode.nodeValue?.length ?? 0);
      }
      return most;
    });
    // A name of 10,000 characters is cut, and says so.
    expect(longest).toBeLessThan(2000);
  });
});
