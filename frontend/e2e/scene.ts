/**
 * What the tests of one file share: a log directory, a server on it and a browser, made before the
 * first test and given back after the last; and for each test a page, on which nothing may go wrong.
 */
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
