import { chromium, type Browser, type CDPSession, type Locator, type Page } from "playwright-core";

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

/** What a visitor's system says of itself. */
export interface Look {
  viewport?: { width: number; height: number };
  colorScheme?: "light" | "dark";
  reducedMotion?: "reduce" | "no-preference";
}

const TIMEOUT_MS = 60_000;
const VIEWPORT = { width: 1280, height: 720 };

/**
 * A page and what must not happen on it. Tests share it and each visits as if for the first time:
 * a new page has a new process, which costs four times as much as to load the page again.
 */
export class Tab {
  /** Addresses of other hosts that were requested since the visit, and errors of the script. */
  faults: string[] = [];
  readonly requests: Requests;
  private host = "";

  private constructor(
    readonly page: Page,
    private readonly session: CDPSession,
  ) {
    this.requests = new Requests(page);
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (/^(http|ws)s?:$/.test(protocol) && host !== this.host) this.faults.push(request.url());
    });
    page.on("pageerror", (error) => this.faults.push(error.message));
  }

  static async open(browser: Browser): Promise<Tab> {
    const context = await browser.newContext({ viewport: VIEWPORT });
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    return new Tab(page, await context.newCDPSession(page));
  }

  /** Load an address with nothing left of earlier visits: no storage, permission, route or history. */
  async visit(url: string, look: Look = {}): Promise<void> {
    const { viewport = VIEWPORT, colorScheme = "light", reducedMotion = "reduce" } = look;
    const { page, session } = this;
    const { host, origin } = new URL(url);
    await page.unrouteAll();
    await page.goto("about:blank");
    await Promise.all([
      session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" }),
      session.send("Page.resetNavigationHistory"),
      page.context().clearPermissions(),
      page.mouse.move(0, 0),
      page.setViewportSize(viewport),
      page.emulateMedia({ colorScheme, reducedMotion }),
    ]);
    this.host = host;
    this.faults = [];
    this.requests.forget();
    await page.goto(url);
  }

  /** Wait until the view has all that it asked for and has drawn it. */
  settled(): Promise<void> {
    return settled(this.page, this.requests);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
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

/** The button that names the run at the top, and opens the list of them. */
export function runButton(page: Page): Locator {
  return page.getByRole("button", { name: /^run / }).first();
}

/** Choose a run by its name, as who searches for it. */
export async function chooseRun(page: Page, name: string): Promise<void> {
  await runButton(page).click();
  const search = page.getByRole("combobox", { name: "Search runs" });
  await search.fill(name);
  await search.press("Enter");
}
