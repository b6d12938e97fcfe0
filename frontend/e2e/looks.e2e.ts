import { gzipSync } from "node:zlib";

import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { PALETTES } from "../src/theme/colours";
import { launch, open } from "./browser";
import { serve, type Server } from "./server";
import { makeLogDir, type LogDir } from "./traces";

/** The first page's script, compressed. */
const MOST_SCRIPT_BYTES = 300_000;

let logdir: LogDir;
let server: Server;
let browser: Browser;

beforeAll(async () => {
  logdir = makeLogDir();
  logdir.addReal("tiny");
  logdir.addDevice("device", [
    { path: "", className: "Net" },
    { path: "head", className: "Linear", waits: 500 },
  ]);
  logdir.addFile("broken/w.1.pt.trace.json", "{");
  server = await serve(logdir.path);
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  logdir.remove();
});

const PAGES: [name: string, hash: string, ready: string][] = [
  ["modules with a panel", "#/backward?run=device&module=head", ".panel"],
  ["modules by host time", "#/backward?run=tiny", ".icicle .block"],
  ["syncs with a chain", "#/syncs?run=device&sync=132.0", ".table-body [role=row]"],
  ["an error", "#/backward?run=broken", "[role=alert]"],
];

/** Every serious fault that axe finds, with the elements concerned. */
async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page }).analyze();
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`));
}

describe.each(["light", "dark"] as const)("in %s mode", (mode) => {
  test.each(PAGES)(
    "%s: the mode's colours, no serious fault found by axe",
    async (_, hash, ready) => {
      const { page, faults } = await open(browser, server.url + hash, { colorScheme: mode });
      await page.locator(ready).first().waitFor();
      if (hash.startsWith("#/syncs")) {
        await page.locator(ready).first().click();
        await page.locator(".chain").waitFor();
      }
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const [r, g, b] = [1, 3, 5].map((at) => parseInt(PALETTES[mode].page.slice(at, at + 2), 16));
      expect(background).toBe(`rgb(${String(r)}, ${String(g)}, ${String(b)})`);
      expect(await violations(page)).toEqual([]);
      expect(faults).toEqual([]);
      await page.context().close();
    },
  );
});

test("the note on coverage opens, without a serious fault", async () => {
  const { page } = await open(browser, `${server.url}#/backward?run=device`);
  await page.getByRole("button", { name: /attributed .* of .* backward/ }).click();
  await page.getByRole("dialog", { name: "Coverage and data quality" }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test("the mode follows the system while the page is open", async () => {
  const { page } = await open(browser, `${server.url}#/backward?run=tiny`, {
    colorScheme: "light",
  });
  await page.locator(".table").waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(() => page.locator("html").getAttribute("data-mode")).toBe("dark");
});

test("nothing is wider than a small screen", async () => {
  for (const [, hash, ready] of PAGES) {
    const { page } = await open(browser, server.url + hash);
    await page.locator(ready).first().waitFor();
    const size = await page.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return [scrollWidth, scrollHeight];
    });
    expect(size).toEqual([1280, 720]);
    await page.context().close();
  }
});

test("the script stays small", async () => {
  const script = await (await fetch(`${server.url}index.js`)).text();
  expect(gzipSync(script).length).toBeLessThan(MOST_SCRIPT_BYTES);
});
