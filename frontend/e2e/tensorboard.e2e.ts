import type { Browser, FrameLocator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { launch, open } from "./browser";
import { tensorboard, type Server } from "./server";
import { makeLogDir, type LogDir } from "./traces";

let logdir: LogDir;
let server: Server;
let browser: Browser;

beforeAll(async () => {
  logdir = makeLogDir();
  logdir.addReal("tiny");
  server = await tensorboard(logdir.path);
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  logdir.remove();
});

const frame = (page: Page): FrameLocator =>
  page.frameLocator("iframe[src*='plugin_entry.html?name=hookview']");

test("inside TensorBoard the page shows, and follows its dark mode", async () => {
  const { page, faults } = await open(browser, `${server.url}#hookview`);
  const inside = frame(page);
  await inside.getByRole("region", { name: "Steps" }).waitFor();
  await inside.getByRole("link", { name: "Syncs" }).click();
  await inside.getByText("The trace holds no device events in these steps").waitFor();
  const address = await inside.locator("html").evaluate(() => window.location.href);
  expect(address).toContain("/data/plugin_entry.html?name=hookview#/syncs");
  const mode = (): Promise<string | null> => inside.locator("html").getAttribute("data-mode");
  await page.evaluate(() => {
    document.body.classList.add("dark-mode");
  });
  await expect.poll(mode).toBe("dark");
  await page.evaluate(() => {
    document.body.classList.remove("dark-mode");
  });
  await expect.poll(mode).toBe("light");
  expect(faults).toEqual([]);
});
