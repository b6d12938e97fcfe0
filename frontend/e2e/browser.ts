import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from "playwright-core";

import { Requests, settled } from "./quiet";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A browser with a profile folder of its own, which goes when it is closed. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, headless: true, args: FLAGS });
}

/** A page, and all that must not happen on it. */
export interface Watched {
  page: Page;
  /** Addresses of other hosts that were asked for, and errors of the script. */
  faults: string[];
  /** Waits until the view has all that it asked for and has drawn it. */
  settled: () => Promise<void>;
}

export async function open(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  const host = new URL(url).host;
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (/^(http|ws)s?:$/.test(asked.protocol) && asked.host !== host) faults.push(request.url());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  const requests = new Requests(page);
  await page.goto(url);
  return { page, faults, settled: () => settled(page, requests) };
}

/** The title of a rule, as the server has it. */
export async function ruleTitle(url: string, id: string): Promise<string> {
  const answer = await fetch(`${url}api/rules`);
  const rules = (await answer.json()) as { id: string; title: string }[];
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined) throw new Error(`no rule ${id}`);
  return rule.title;
}

/** The row of a table that holds this text in its first cell. */
export function row(page: Page, text: string): Locator {
  return page.locator(".table-body [role=row]", {
    has: page.locator("[role=gridcell]").first().getByText(text, { exact: true }),
  });
}

/** The first cells of all rows drawn, from top to bottom. */
export async function firstCells(page: Page): Promise<string[]> {
  const rows = page.locator(".table-body [role=row]");
  const cells = await rows.evaluateAll((all) =>
    all
      .map((one) => ({
        index: Number(one.getAttribute("aria-rowindex")),
        text: one.querySelector(".code")?.textContent ?? "",
      }))
      .sort((a, b) => a.index - b.index),
  );
  return cells.map((cell) => cell.text);
}
