import type { FrameLocator } from "playwright-core";
import { expect } from "vitest";

import { page, serving, test, visit } from "./scene";
import { tensorboard } from "./server";

serving((logdir) => {
  logdir.addReal("tiny");
}, tensorboard);

const frame = (): FrameLocator =>
  page.frameLocator("iframe[src*='plugin_entry.html?name=hookview']");
const current = (): Promise<string> =>
  frame().locator(".navigation .current span").first().innerText();
const link = (name: string) => frame().getByRole("link", { name });
const syncs = (): Promise<void> => frame().getByText("There are no device events here").waitFor();

test("inside TensorBoard the address brings the place back, by reload and the way back", async () => {
  const tab = await visit("#hookview");
  await frame().getByRole("region", { name: "Verdict" }).waitFor();
  expect(page.url()).toContain(`#hookview&p.hookview.place=${encodeURIComponent("/summary")}`);
  const copied = await link("Syncs").evaluate((one: HTMLAnchorElement) => one.href);
  await link("Syncs").click();
  await syncs();
  expect(page.url()).toBe(copied);

  await page.reload();
  await syncs();
  expect(page.url()).toBe(copied);

  await link("Timeline").click();
  await expect.poll(current).toBe("Timeline");
  await page.goBack();
  await expect.poll(current).toBe("Syncs");

  expect(tab.faults).toEqual([]);

  await page.getByRole("tab", { name: "PYTORCH_PROFILER" }).click();
  await expect.poll(() => page.url()).toContain("#pytorch_profiler");
  await page.getByRole("tab", { name: "HOOKVIEW" }).click();
  await expect.poll(() => page.url()).toBe(copied);
  expect(await current()).toBe("Syncs");
  // Another tab's own page asks other hosts; ours is not to blame for that.
  tab.faults = [];
});

test("inside TensorBoard the page shows at a copied address, and follows the dark mode", async () => {
  await visit(`#hookview&p.hookview.place=${encodeURIComponent("/syncs")}`);
  await syncs();
  expect(await current()).toBe("Syncs");
  const mode = (): Promise<string | null> => frame().locator("html").getAttribute("data-mode");
  await page.evaluate(() => {
    document.body.classList.add("dark-mode");
  });
  await expect.poll(mode).toBe("dark");
  await page.evaluate(() => {
    document.body.classList.remove("dark-mode");
  });
  await expect.poll(mode).toBe("light");
});
