/**
 * What tests run in: a worker's browser and its tab, the server that all files share or one of a
 * file's own, and for each test a visit, on which nothing may go wrong.
 */
import type { Browser, Page } from "playwright-core";
import { test as base, beforeAll, beforeEach, expect, inject } from "vitest";

import { launch, Tab, type Look } from "./browser";
import { firstLine } from "./failure";
import { serve } from "./server";
import { logDirAt, makeLogDir, type LogDir } from "./traces";

const shared = inject("shared");

export let logdir = logDirAt(shared.path);
/** With a slash at the end. */
export let url = shared.url;
export let page: Page;
let browser: Browser;
let tab: Tab | null = null;

export const test = base
  // eslint-disable-next-line no-empty-pattern -- vitest reads from the pattern what is wanted
  .extend("browser", { scope: "worker" }, async ({}, { onCleanup }) => {
    const own = await launch();
    onCleanup(() => own.close());
    return own;
  })
  .extend("unharmed", { auto: true }, ({ browser: own, task, onTestFailed }, { onCleanup }) => {
    browser = own;
    onTestFailed(async () => {
      for (const error of task.result?.errors ?? []) error.message = firstLine(error.message);
      await tab?.close();
      tab = null;
    });
    onCleanup(() => {
      expect(tab?.faults ?? [], "errors of the page, and requests to other hosts").toEqual([]);
    });
  });

/** Visit a place on the server, or another address, as if for the first time. */
export async function visit(address: string, look?: Look): Promise<Tab> {
  tab ??= await Tab.open(browser);
  page = tab.page;
  await tab.visit(new URL(address, url).href, look);
  return tab;
}

/** Wait until the view has all that it asked for and has drawn it. */
export async function settled(): Promise<void> {
  await tab?.settled();
}

/** Addresses requested since the visit. */
export function requests(): string[] {
  return tab?.requests.sent ?? [];
}

/** Visit an address before each test, and wait until `ready`. */
export function visiting(hash: string, ready: () => Promise<unknown>, look?: Look): void {
  beforeEach(async () => {
    await visit(hash, look);
    await ready();
  });
}

/** Visit an address once for tests that leave the view as it is. */
export function visitingOnce(hash: string, ready: () => Promise<unknown>, look?: Look): void {
  let visited: Tab | null = null;
  beforeEach(async () => {
    // After a test that failed there is another tab.
    if (visited !== null && visited === tab) return;
    visited = await visit(hash, look);
    await ready();
  });
}

/** Add runs that only this file looks at to the log directory that all share. */
export function adding(fill: (logdir: LogDir) => void): void {
  beforeAll(() => {
    fill(logdir);
  });
}

/** Serve a log directory of this file alone. */
export function serving(fill: (logdir: LogDir) => void, start = serve): void {
  beforeAll(async () => {
    const own = makeLogDir();
    fill(own);
    const server = await start(own.path);
    [logdir, url] = [own, server.url];
    return async () => {
      [logdir, url] = [logDirAt(shared.path), shared.url];
      await server.stop();
      own.remove();
    };
  });
}
