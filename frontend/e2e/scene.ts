/**
 * What the tests of one file share: a log directory, a server on it and a browser, made before the
 * first test and given back after the last; and for each test a page, on which nothing may go wrong.
 */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";

import { launch, open, type Watched } from "./browser";
import { serve, type Server } from "./server";
import { makeLogDir, type LogDir } from "./traces";

export let logdir: LogDir;
export let server: Server;
export let browser: Browser;
export let watched: Watched;
export let page: Page;

/** Serve what `fill` puts into a log directory. */
export function serving(fill: (logdir: LogDir) => void): void {
  beforeAll(async () => {
    logdir = makeLogDir();
    fill(logdir);
    server = await serve(logdir.path);
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    logdir.remove();
  });
}

const HOSTILE = "<img src=x onerror=alert(1)>.\u202egnp\u2066\nmodule";

/** Serve a trace with two syncs, the same with names that look like markup, one without a device. */
export function servingSyncs(): void {
  serving((into) => {
    into.addDevice("device", [
      { path: "", className: "Net" },
      { path: "body", className: "Sequential", syncUs: 300 },
      { path: "head", className: "Linear", syncUs: 500 },
    ]);
    into.addDevice("hostile", [
      { path: "", className: "X".repeat(10_000) },
      { path: HOSTILE, className: "<img src=x onerror=alert(1)>", syncUs: 300 },
      { path: "y".repeat(10_000), className: "\u202etxt", syncUs: 400 },
    ]);
    into.addReal("host only");
  });
}

/** Open a page at an address for each test, and wait until `ready`. */
export function visiting(
  hash: string,
  ready: () => Promise<unknown>,
  options: BrowserContextOptions = {},
): void {
  beforeEach(async () => {
    watched = await open(browser, `${server.url}${hash}`, options);
    page = watched.page;
    await ready();
  });
  afterEach(async () => {
    await page.context().close();
    expect(watched.faults).toEqual([]);
  });
}

/** Every serious fault that axe finds on a page, with the elements concerned. */
export async function seriousFaults(of: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page: of }).analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`));
}
