import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { launch, open, type Watched } from "./browser";
import { serve, type Server } from "./server";
import { makeLogDir, type LogDir } from "./traces";

let logdir: LogDir;
let server: Server;
let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  logdir = makeLogDir();
  logdir.addDevice("device", [
    { path: "", className: "Net" },
    { path: "body", className: "Sequential", waits: 300 },
    { path: "head", className: "Linear", waits: 500 },
  ]);
  logdir.addReal("host only");
  server = await serve(logdir.path);
  browser = await launch();
});

beforeEach(async () => {
  watched = await open(browser, `${server.url}#/syncs?run=device`);
  page = watched.page;
  await rows().first().waitFor();
});

afterEach(async () => {
  await page.context().close();
  expect(watched.faults).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  logdir.remove();
});

const rows = (): ReturnType<Page["locator"]> => page.locator(".table-body [role=row]");
const modules = (): Promise<string[]> =>
  rows().evaluateAll((all) =>
    all.map((one) => /body|head/.exec(one.textContent)?.[0] ?? one.textContent),
  );

test("every wait is listed, the longest first, with its share of crimson", async () => {
  expect(await modules()).toEqual(["head", "body"]);
  expect(await rows().first().textContent()).toContain("cudaStreamSynchronize");
  expect(await rows().first().locator(".look").first().textContent()).toBe("500.0 µs");
  expect(await page.locator(".figure dd").first().textContent()).toBe("2");
  const badge = page
    .getByRole("navigation", { name: "Views" })
    .getByRole("link", { name: "Syncs" });
  expect(await badge.textContent()).toContain("2");
});

test("sort, search and filters", async () => {
  await page.getByRole("columnheader", { name: "start" }).getByRole("button").click();
  await page.getByRole("columnheader", { name: "start" }).getByRole("button").click();
  await expect.poll(() => page.url()).toContain("sort=start");
  expect(await modules()).toEqual(["head", "body"]);
  await page.getByRole("searchbox").fill("BODY");
  await page.getByText("1 of 2").waitFor();
  expect(await modules()).toEqual(["body"]);
  await page.getByRole("searchbox").fill("");
  await page.getByLabel("phase").selectOption("backward");
  await page.getByText("2 of 2").waitFor();
  await page.goto(`${server.url}#/syncs?run=device&phase=data`);
  await page.getByText("No call fits search and filters.").waitFor();
});

test("a selected wait shows its chain, which can be copied", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await rows().first().click();
  const chain = page.getByRole("region", { name: "Chain" });
  await chain.waitFor();
  const expected = [
    "cudaStreamSynchronize  500.0 µs",
    "└ aten::item",
    "  └ LinearBackward0",
    "    └ head (Linear)",
  ];
  expect((await chain.locator("pre").innerText()).trimEnd().split("\n")).toEqual(expected);
  await chain.getByRole("button", { name: "Copy" }).click();
  await chain.getByText("Copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied.split("\n")).toEqual(expected);
});

test("the chain leads to the module, and the module to its waits", async () => {
  await rows().first().click();
  await page.getByRole("button", { name: "Show module in Backward" }).click();
  const panel = page.getByRole("complementary", { name: "Module" });
  await panel.getByRole("heading", { name: "head" }).waitFor();
  await panel.getByRole("button", { name: "Show in Syncs" }).click();
  await page.getByText("1 of 2").waitFor();
  expect(await modules()).toEqual(["head"]);
});

test("a trace without waits says so", async () => {
  await page.getByLabel("run").selectOption("host only");
  await page.getByText("The host never waits for the device in these steps.").waitFor();
});
