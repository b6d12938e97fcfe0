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

test("inside TensorBoard the address brings the place back, by reload, copy and the way back", async () => {
  const { page, faults } = await open(browser, `${server.url}#hookview`);
  const current = (on: Page): Promise<string> =>
    frame(on).locator(".navigation .current span").first().innerText();
  await frame(page).getByRole("region", { name: "Steps" }).waitFor();
  expect(page.url()).toContain(`#hookview&p.hookview.place=${encodeURIComponent("/summary")}`);
  const link = frame(page).getByRole("link", { name: "Syncs" });
  const copied = await link.evaluate((one: HTMLAnchorElement) => one.href);
  await link.click();
  await frame(page).getByText("The trace holds no device events in these steps").waitFor();
  expect(page.url()).toBe(copied);

  await page.reload();
  await frame(page).getByText("The trace holds no device events in these steps").waitFor();
  expect(page.url()).toBe(copied);

  await frame(page).getByRole("link", { name: "Timeline" }).click();
  await expect.poll(() => current(page)).toBe("Timeline");
  await page.goBack();
  await expect.poll(() => current(page)).toBe("Syncs");

  expect(faults).toEqual([]);

  // Another tab's own page asks other hosts; ours is not to blame for that.
  await page.getByRole("tab", { name: "PYTORCH_PROFILER" }).click();
  await expect.poll(() => page.url()).toContain("#pytorch_profiler");
  await page.getByRole("tab", { name: "HOOKVIEW" }).click();
  await expect.poll(() => page.url()).toBe(copied);
  expect(await current(page)).toBe("Syncs");

  const other = await open(browser, copied);
  await expect.poll(() => current(other.page)).toBe("Syncs");
});

test("inside TensorBoard the page shows, and follows its dark mode", async () => {
  const { page, faults } = await open(browser, `${server.url}#hookview`);
  const inside = frame(page);
  await inside.getByRole("region", { name: "Steps" }).waitFor();
  await inside.getByRole("link", { name: "Syncs" }).click();
  await inside.getByText("The trace holds no device events in these steps").waitFor();
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
