import type { Page } from "playwright-core";
import { expect } from "vitest";

import { seriousFaultsInModes } from "./axe";
import { chooseRun } from "./browser";
import { drawn } from "./canvas";
import { page, serving, test, url, visiting } from "./scene";

const HOSTILE = `<img src=x onerror="document.title='taken'">${"k".repeat(10_000)}`;

serving((logdir) => {
  const common = [
    { path: "", className: "Net" },
    { path: "body", className: "Sequential", syncUs: 300 },
  ];
  logdir.addDevice("before", [
    ...common,
    { path: "patch_drop", className: "PatchDropout", syncUs: 5000 },
    { path: "old", className: "Linear" },
  ]);
  logdir.addDevice("after", [
    ...common,
    { path: "patch_drop", className: "PatchDropout" },
    { path: "<b>new</b>", className: "GELU", kernel: HOSTILE },
  ]);
  logdir.addReal("host only");
  for (let rank = 0; rank < 10; rank++) logdir.addDevice("many", common, `rank${rank}`);
});

const BOTH = "#/compare?run=after&base=before";

visiting(BOTH, () => headline().waitFor());

const headline = (): ReturnType<Page["getByRole"]> => page.getByRole("heading", { name: /^step / });
const rows = (): ReturnType<Page["locator"]> => page.locator(".table-body [role=row]");

/** Name and status of every row. */
const listed = (): Promise<string[]> =>
  rows().evaluateAll((all) =>
    all.map((row) => {
      const name = row.querySelector("bdi")?.textContent ?? "";
      return `${name} ${row.querySelector(".status")?.textContent ?? ""}`;
    }),
  );

test("the headline says what the fix did", async () => {
  expect(await headline().innerText()).toMatch(
    /^step 6\.\d\d → 1\.\d\d ms \(\d\.\d\d×\): 5\.00 ms less host blocked in patch_drop/,
  );
});

test("modules that appeared and vanished are listed apart from those that are the same", async () => {
  await page.getByRole("button", { name: /^Modules/ }).click();
  await page.getByLabel("status").selectOption("all");
  await expect.poll(async () => (await listed()).length).toBeGreaterThan(4);
  const all = await listed();
  expect(all).toContain("old vanished");
  expect(all).toContain("<b>new</b> appeared");
  await page.getByLabel("status").selectOption("appeared");
  await expect.poll(listed).toEqual(["<b>new</b> appeared"]);
  await page.getByLabel("status").selectOption("all");
  await page.getByRole("searchbox").fill("PATCH");
  await expect
    .poll(async () => (await listed()).map((row) => row.split(" ")[0]))
    .toEqual(["patch_drop"]);
});

const timelines = (): ReturnType<Page["getByRole"]> =>
  page.getByRole("region", { name: "Timelines" });

test("the steps of both sides lie on one axis, and a moment of both is read at once", async () => {
  await drawn(timelines().locator("canvas"));
  expect(await timelines().getByRole("listitem").allInnerTexts()).toContain("phases\nbefore");
  await timelines()
    .getByRole("application")
    .hover({ position: { x: 40, y: 30 } });
  const readout = timelines().getByRole("status");
  await readout.getByText("before").waitFor();
  expect(await readout.innerText()).toMatch(/phases.*before.*after/s);
  const modules = timelines().getByRole("link", { name: "step 1" });
  await modules.first().click();
  await expect.poll(() => page.url()).toContain("#/timeline?run=before");
});

test("the keyboard moves through both steps, and opens a module that differs", async () => {
  const picture = timelines().getByRole("application");
  await picture.focus();
  await page.keyboard.press("Home");
  const readout = timelines().getByRole("status");
  for (let row = 0; row < 4; row++) await page.keyboard.press("ArrowDown");
  await expect.poll(() => readout.innerText()).toContain("modules, backward");
  const differs = "before patch_drop 5.09 ms (−5.00 ms per step)";
  for (let at = 0; at < 100; at++) {
    if ((await readout.innerText()).includes(differs)) break;
    await page.keyboard.press("ArrowRight");
  }
  expect(await readout.innerText()).toContain(differs);
  const inView = timelines().locator(".lanes-in-view");
  const whole = await inView.innerText();
  await page.keyboard.press("+");
  await expect.poll(() => inView.innerText()).not.toBe(whole);
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "Difference" }).waitFor();
  expect(page.url()).toContain("table=modules");
});

test("syncs are listed by cause and place, and lead to either side", async () => {
  await page.getByRole("button", { name: /^Syncs/ }).click();
  await rows().filter({ hasText: "patch_drop" }).click();
  const panel = page.getByRole("complementary", { name: "Difference" });
  await panel.getByText("−5.00 ms").waitFor();
  await panel.getByText("It is not there.").waitFor();
  const before = panel.getByRole("region", { name: "before" });
  await before.getByRole("link", { name: "Show in Syncs" }).click();
  await expect.poll(() => page.url()).toContain("#/syncs?run=before");
  await page.goBack();
  await before.getByRole("link", { name: "Show in timeline" }).click();
  await expect.poll(() => page.url()).toContain("#/timeline?run=before");
  await page.getByRole("heading", { name: "cudaStreamSynchronize" }).waitFor();
});

test("swapping the sides turns the sentence round, and back goes back", async () => {
  await page.getByRole("button", { name: "Swap" }).click();
  await page.getByRole("heading", { name: /5\.00 ms more host blocked in patch_drop/ }).waitFor();
  expect(page.url()).toContain("run=before");
  expect(page.url()).toContain("base=after");
  await page.goBack();
  await page.getByRole("heading", { name: /less host blocked/ }).waitFor();
});

test("an address without a base offers likely ones", async () => {
  await page.goto(`${url}#/compare?run=after`);
  await page.getByRole("heading", { name: "Compare with what?" }).waitFor();
  await page.getByRole("link", { name: "run before" }).click();
  await headline().waitFor();
  await expect.poll(() => page.url()).toContain("base=before");
});

test("of many workers some are offered at first, and the others at a click", async () => {
  await page.goto(`${url}#/compare?run=many`);
  await page.getByRole("heading", { name: "Compare with what?" }).waitFor();
  const workers = page.getByRole("link", { name: /^worker/ });
  expect(await workers.count()).toBe(5);
  await page.getByRole("button", { name: "and 4 more workers" }).click();
  await expect.poll(() => workers.count()).toBe(9);
  await workers.last().click();
  await headline().waitFor();
});

test("a name of 10,000 characters is text, and an address stays short", async () => {
  await page.getByRole("button", { name: /^Device events/ }).click();
  await rows().filter({ hasText: "<img" }).first().click();
  const panel = page.getByRole("complementary", { name: "Difference" });
  await panel.waitFor();
  expect(page.url().length).toBeLessThan(600);
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.title()).not.toBe("taken");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1280);
  await page.reload();
  await panel.waitFor();
});

test("another run at the top is held against the same base", async () => {
  await chooseRun(page, "host only");
  await page.getByText("One side has no device events").waitFor();
  expect(page.url()).toContain("base=before");
});

test("a base that is gone is named", async () => {
  await page.goto(`${url}#/compare?run=after&base=gone`);
  await page.getByRole("alert").getByText("gone").waitFor();
});

test("ranges of steps of one trace are compared, and the address keeps them", async () => {
  await page.goto(`${url}#/compare?run=${encodeURIComponent("host only")}`);
  await page.getByRole("link", { name: "first steps" }).click();
  await headline().waitFor();
  expect(page.url()).toContain("base_step=");
  expect(page.url()).toContain("other_step=");
  await page.getByText("Neither side has device events").waitFor();
  const address = page.url();
  const sentence = await headline().innerText();
  await page.goto("about:blank");
  await page.goto(address);
  await headline().waitFor();
  expect(await headline().innerText()).toBe(sentence);
  await page.getByLabel("before, last step").selectOption({ index: 1 });
  await expect.poll(() => page.url()).not.toBe(address);
});

test("axe finds no serious fault, and nothing is wider than the screen", async () => {
  await rows().first().click();
  await page.getByRole("complementary", { name: "Difference" }).waitFor();
  expect(await seriousFaultsInModes(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1280);
});
