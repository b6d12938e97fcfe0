import { gzipSync } from "node:zlib";
import { describe, expect } from "vitest";

import { VIEWS, type View } from "../src/address/place";
import { PALETTES } from "../src/theme/colours";
import { MODES, seriousFaults, show } from "./axe";
import { adding, page, settled, test, url, visit, visitingOnce } from "./scene";

/** The first page's script, compressed. */
const MOST_SCRIPT_BYTES = 300_000;
/** More presses of Tab than any view has stops. */
const MOST_STOPS = 250;

adding((logdir) => {
  logdir.addFile("broken/w.1.pt.trace.json", "{");
});

/** What is pressed once a page is there, one after the other, and what is there then. */
interface Act {
  press: readonly string[];
  then: string;
}

const ROW = ".table-body [role=row]";
const OPENS_A_PANEL: Act = { press: [ROW], then: ".panel" };

const PAGES: [name: string, hash: string, ready: string, act?: Act][] = [
  ["modules with a panel", "#/modules?run=device&module=head", ".panel"],
  ["modules by host time", "#/modules?run=tiny", ".icicle .block"],
  ["syncs with a chain", "#/syncs?run=device&sync=132.0", ROW, { press: [ROW], then: ".chain" }],
  ["a kernel's panel", "#/kernels?run=device", ROW, OPENS_A_PANEL],
  ["an operator's panel", "#/operators?run=device", ROW, OPENS_A_PANEL],
  ["a changed module's panel", "#/compare?run=device&base=one+sync", ROW, OPENS_A_PANEL],
  ["an event of the timeline", "#/timeline?run=tiny&event=1777", ".selection-columns"],
  ["a range of the timeline", "#/timeline?run=device&range=240..370", ".selection-columns"],
  [
    "details of the summary",
    "#/summary?run=device",
    ".summary-details",
    { press: [".summary-details > summary"], then: ".steps-chart" },
  ],
  [
    "the list of runs",
    "#/modules?run=device",
    ROW,
    { press: [".run-picker > button"], then: "[role=listbox] [role=option]" },
  ],
  [
    "help with the glossary",
    "#/timeline?run=device",
    ".chart-canvas",
    { press: [".help-button", ".glossary > summary"], then: ".glossary dt" },
  ],
  [
    "a word that explains itself",
    "#/modules?run=device",
    ROW,
    { press: [".figures .term"], then: "[role=tooltip]:not([hidden])" },
  ],
  ["ranks with a panel", "#/ranks?run=late&rank=2&rankstep=ProfilerStep%231", ".panel .facts"],
  ["collectives", "#/ranks?run=late&ranks=collectives&collective=1", ".collective-charts circle"],
  ["balance of ranks", "#/ranks?run=late&ranks=balance", ".balance td"],
  ["an error", "#/modules?run=broken", "[role=alert]"],
  ["operators by call stack", "#/operators?run=device&operators=stack", ".table"],
  ["sequences of kernels", "#/kernels?run=device&kernels=sequence", ".table"],
  ["each block of memory", "#/memory?run=memory&stack=block&list=blocks", ".memory-chart"],
  ["one collective on all ranks", "#/ranks?run=late&collective=1&together=1", ".together-picture"],
  ["no trace to compare with", "#/compare?run=device", ".base-choice"],
  ["a timeline with hits", "#/timeline?run=device&q=aten", ".chart-canvas"],
];

/** What a view shows most of; `run=device` where this names nothing. */
const FILLED: Partial<Record<View, string>> = {
  kernels: "run=device&roofline=operator",
  memory: "run=memory",
  ranks: "run=late",
  history: "run=watched",
  whatif: "run=device&scale=host%3D0.5",
  query: "run=device&sql=select+name%2C+count(*)+from+events+group+by+1",
  compare: "run=device&base=one+sync",
};

/** The size of what is laid out, which is the window's where nothing is cut or overlaps. */
function laidOut(): Promise<[number, number]> {
  return page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
}

describe.each(PAGES)("%s", (_, hash, ready, act) => {
  visitingOnce(hash, async () => {
    await page.locator(ready).first().waitFor();
    for (const press of act?.press ?? []) await page.locator(press).first().click();
    if (act !== undefined) await page.locator(act.then).first().waitFor();
  });

  test.each(MODES)("has the colours of %s mode and no fault", async (mode) => {
    await show(page, mode);
    const hex = PALETTES[mode].page;
    const rgb = [1, 3, 5].map((at) => String(parseInt(hex.slice(at, at + 2), 16))).join(", ");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await expect.poll(background).toBe(`rgb(${rgb})`);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test("is no wider than a small screen", async () => {
    expect(await laidOut()).toEqual([1280, 720]);
  });
});

describe.each(VIEWS)("the view %s", (view) => {
  visitingOnce(`#/${view}?${FILLED[view] ?? "run=device"}`, () => settled());

  test("is walked through by Tab: nothing without a name, no trap, bar and views first", async () => {
    const stops: Stop[] = [];
    await page.keyboard.press("Tab");
    const first = await page.evaluateHandle(() => document.activeElement);
    for (let stop = await page.evaluate(focused, null); stop !== null;) {
      stops.push(stop);
      if (stops.length === MOST_STOPS) break;
      await page.keyboard.press("Tab");
      stop = await page.evaluate(focused, first);
    }
    expect(stops.length).toBeLessThan(MOST_STOPS);
    expect(stops.filter(({ name, seen }) => name === "" || !seen)).toEqual([]);
    const parts = stops.map(({ part }) => part).filter((part, at, all) => part !== all[at - 1]);
    expect(parts).toEqual(["HEADER", "NAV", "MAIN"]);
  });

  test.each(MODES)("has no fault that axe finds in %s mode", async (mode) => {
    await show(page, mode);
    expect(await page.locator(".navigation .current").count()).toBe(1);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test.each([600, 1024, 1280, 1920])(
    "fits a window of %d pixels, its tables too",
    async (width) => {
      await page.setViewportSize({ width, height: 720 });
      await settled();
      expect(await laidOut()).toEqual([width, 720]);
      const tables = await page
        .locator(".table")
        .evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
      expect(tables.filter((more) => more > 0)).toEqual([]);
    },
  );
});

/** Where the keyboard is. */
interface Stop {
  part: string;
  name: string;
  seen: boolean;
}

/** Runs in the page: what has the focus, null where that is the document, or the first stop again. */
function focused(first: Element | null): Stop | null {
  const element = document.activeElement;
  if (!(element instanceof HTMLElement) || element === document.body) return null;
  if (element === first) return null;
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
  await visit("#/modules?run=device");
  await page.getByRole("button", { name: /attributed/ }).click();
  await page.getByRole("dialog", { name: "Coverage and data quality" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test("the mode is that of the system, and follows it while the page is open", async () => {
  await visit("#/modules?run=tiny", { colorScheme: "dark" });
  await page.locator(".table").waitFor();
  const mode = (): Promise<string | null> => page.locator("html").getAttribute("data-mode");
  expect(await mode()).toBe("dark");
  await show(page, "light");
  await show(page, "dark");
});

test("the script stays small", async () => {
  const script = await (await fetch(`${url}index.js`)).text();
  expect(script).toContain("render");
  expect(gzipSync(script).length).toBeLessThan(MOST_SCRIPT_BYTES);
});
