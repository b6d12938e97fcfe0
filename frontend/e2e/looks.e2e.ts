import { gzipSync } from "node:zlib";
import type { BrowserContextOptions } from "playwright-core";
import { describe, expect, test } from "vitest";

import { VIEWS } from "../src/address/place";
import { PALETTES } from "../src/theme/colours";
import { open, type Watched } from "./browser";
import { browser, seriousFaults, server, serving } from "./scene";

/** The first page's script, compressed. */
const MOST_SCRIPT_BYTES = 300_000;
/** More presses of Tab than any view has stops. */
const MOST_STOPS = 250;

serving((logdir) => {
  logdir.addReal("tiny");
  logdir.addDevice("device", [
    { path: "", className: "Net" },
    { path: "head", className: "Linear", syncUs: 500 },
  ]);
  logdir.addRanks("ranks", 4, 2);
  logdir.addFile("broken/w.1.pt.trace.json", "{");
});

const PAGES: [name: string, hash: string, ready: string][] = [
  ["modules with a panel", "#/modules?run=device&module=head", ".panel"],
  ["modules by host time", "#/modules?run=tiny", ".icicle .block"],
  ["syncs with a chain", "#/syncs?run=device&sync=132.0", ".table-body [role=row]"],
  ["ranks with a panel", "#/ranks?run=ranks&rank=2&rankstep=ProfilerStep%231", ".panel .facts"],
  ["collectives", "#/ranks?run=ranks&ranks=collectives&collective=1", ".collective-charts circle"],
  ["balance of ranks", "#/ranks?run=ranks&ranks=balance", ".balance td"],
  ["an error", "#/modules?run=broken", "[role=alert]"],
];

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
      expect(await seriousFaults(page)).toEqual([]);
      expect(faults).toEqual([]);
      await page.context().close();
    },
  );
});

/** Open a view of the trace with a device, and wait until it has all it asked for. */
async function openView(view: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const watched = await open(browser, `${server.url}#/${view}?run=device`, options);
  await watched.settled();
  return watched;
}

describe.each(VIEWS)("the view %s", (view) => {
  test.each(["light", "dark"] as const)(
    "has no serious fault in %s mode, and asks no other host",
    async (colorScheme) => {
      const { page, faults } = await openView(view, { colorScheme });
      expect(await page.locator(".navigation .current").count()).toBe(1);
      expect(await seriousFaults(page)).toEqual([]);
      expect(faults).toEqual([]);
      await page.context().close();
    },
  );

  test.each([1024, 1280, 1920])("fits a window of %d pixels, its tables too", async (width) => {
    const viewport = { width, height: 720 };
    const { page } = await openView(view, { viewport });
    const size = await page.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return [scrollWidth, scrollHeight];
    });
    expect(size).toEqual([width, 720]);
    const tables = await page
      .locator(".table")
      .evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
    expect(tables.filter((more) => more > 0)).toEqual([]);
    await page.context().close();
  });

  test("is walked through by Tab: nothing without a name, no trap, bar and views first", async () => {
    const { page } = await openView(view);
    const stops: Stop[] = [];
    for (let press = 0; press < MOST_STOPS; press++) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(focused);
      if (stop === null) break;
      stops.push(stop);
    }
    expect(stops.length).toBeLessThan(MOST_STOPS);
    expect(stops.filter(({ name, seen }) => name === "" || !seen)).toEqual([]);
    const parts = stops.map(({ part }) => part).filter((part, at, all) => part !== all[at - 1]);
    expect(parts).toEqual(["HEADER", "NAV", "MAIN"]);
    await page.context().close();
  });
});

/** Where the keyboard is. */
interface Stop {
  part: string;
  name: string;
  seen: boolean;
}

/** Runs in the page: what has the focus, null where that is the document. */
function focused(): Stop | null {
  const element = document.activeElement;
  if (!(element instanceof HTMLElement) || element === document.body) return null;
  const label = element.closest("label") ?? document.querySelector(`label[for="${element.id}"]`);
  const texts = [element.ariaLabel, label?.textContent, element.textContent, element.title];
  const { width, height } = element.getBoundingClientRect();
  return {
    part: element.closest(".topbar, .navigation, .content")?.tagName ?? "",
    name: texts.find((text) => text != null && text.trim() !== "") ?? "",
    seen: width > 0 && height > 0,
  };
}

test("the note on coverage opens, without a serious fault", async () => {
  const { page } = await open(browser, `${server.url}#/modules?run=device`);
  await page.getByRole("button", { name: /attributed/ }).click();
  await page.getByRole("dialog", { name: "Coverage and data quality" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test("the mode follows the system while the page is open", async () => {
  const { page } = await open(browser, `${server.url}#/modules?run=tiny`, {
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
  expect(script).toContain("render");
  expect(gzipSync(script).length).toBeLessThan(MOST_SCRIPT_BYTES);
});
