import type { Page, Route } from "playwright-core";
import { expect } from "vitest";

import { chooseRun, ruleTitle } from "./browser";
import { seriousFaultsInModes } from "./axe";
import { page, test, url, visiting } from "./scene";

const CAUSE = "sync-scalar-item";

visiting("#/syncs?run=device", () => rows().first().waitFor());

const rows = (): ReturnType<Page["locator"]> => page.locator(".table-body [role=row]");
const syncs = (): ReturnType<Page["locator"]> => page.locator(".table-body [aria-level='2']");
const panel = (): ReturnType<Page["locator"]> =>
  page.getByRole("complementary", { name: "Sync", exact: true });
const modules = (): Promise<string[]> =>
  syncs().evaluateAll((all) =>
    all.map((one) => /body|head/.exec(one.textContent)?.[0] ?? one.textContent),
  );

test("syncs stand under their cause, the longest first, with their share of crimson", async () => {
  await rows()
    .first()
    .getByText(await ruleTitle(url, CAUSE))
    .waitFor();
  expect(await rows().first().textContent()).toContain("800.0 us");
  expect(await modules()).toEqual(["head", "body"]);
  expect(await syncs().first().textContent()).toContain("aten::item");
  expect(await syncs().first().locator("strong.look").first().textContent()).toBe("500.0 us");
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
  await page.goto(`${url}#/syncs?run=device&phase=data`);
  await page.getByText("No sync matches the search and filters.").waitFor();
});

test("one step can be looked at, and all again", async () => {
  const step = page.getByRole("main").getByRole("combobox", { name: /^step/ });
  await step.selectOption({ label: "1 (2)" });
  await expect.poll(() => page.url()).toContain("step=ProfilerStep");
  await expect.poll(modules).toEqual(["head", "body"]);
  await step.selectOption({ label: "any" });
  await expect.poll(() => page.url()).not.toContain("step=");
});

test("causes fold, by mouse and by key", async () => {
  await rows().first().locator(".fold").click();
  await expect.poll(() => rows().count()).toBe(1);
  await page.getByRole("treegrid").focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => rows().count()).toBe(3);
});

test("a selected sync shows its chain, which can be copied", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await syncs().first().click();
  const chain = panel().getByRole("region", { name: "Chain" });
  await chain.waitFor();
  const expected = [
    "cudaStreamSynchronize  500.0 us",
    "└ aten::item",
    "  └ LinearBackward0",
    "    └ head (Linear)",
    "      └ ProfilerStep#1, backward",
  ];
  expect((await chain.locator("pre").innerText()).trimEnd().split("\n")).toEqual(expected);
  await chain.getByRole("button", { name: "Copy" }).click();
  await chain.getByText("Copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied.split("\n")).toEqual(expected);
});

test("a selected sync shows its picture, with the device's gap where it caused one", async () => {
  await syncs().first().click();
  const picture = panel().locator(".sync-timeline");
  await picture.getByText("sync 500.0 us").waitFor();
  await picture.getByText("aten::item").first().waitFor();
  await picture.getByText("stream 7").waitFor();
  const answer = await fetch(`${url}api/report?run=device&worker=gpu0`);
  const report = (await answer.json()) as {
    syncs: { duration_us: number; device_idle_us: number }[];
  };
  const idle = report.syncs.find((sync) => sync.duration_us === 500)?.device_idle_us ?? 0;
  expect(idle).toBeGreaterThan(0);
  await picture.getByText(`idle ${idle.toFixed(1)} us`).waitFor();
  const [gap, sync] = await Promise.all([
    picture.locator(".sync-timeline-gap").boundingBox(),
    picture.locator(".sync-timeline-sync").boundingBox(),
  ]);
  if (gap === null || sync === null) throw new Error("not drawn");
  expect(gap.width / sync.width).toBeCloseTo(idle / 500, 1);
  expect(gap.y).toBeGreaterThan(sync.y);
});

test("a cause shows the longest of its syncs, and leads to it", async () => {
  await rows().first().click();
  await panel()
    .getByRole("heading", { name: await ruleTitle(url, CAUSE) })
    .first()
    .waitFor();
  await panel().getByText("2 syncs in 1 step").waitFor();
  await panel().getByRole("button", { name: "the longest" }).click();
  await expect.poll(() => page.locator(".table-row.selected").textContent()).toContain("head");
});

test("the strip leads to a sync", async () => {
  await page.locator(".strip-bin").first().click();
  await expect.poll(() => page.locator(".table-row.selected").textContent()).toContain("head");
});

test("a sync has its fix, with price and reference, and leads to the timeline", async () => {
  await syncs().first().click();
  const fix = panel().getByRole("region", { name: "Fix" });
  await fix.getByText(/^Costs .* of device time per step/).waitFor();
  await fix.getByText(/^Reference: /).waitFor();
  await panel().getByRole("link", { name: "Show in timeline" }).click();
  await expect.poll(() => page.url()).toContain("#/timeline");
  await page.getByRole("heading", { name: "cudaStreamSynchronize" }).waitFor();
});

test("links stay where they are when the picture arrives", async () => {
  const held: Route[] = [];
  let answered = false;
  await page.route("**/api/timeline**", (route) =>
    answered ? route.continue() : held.push(route),
  );
  await syncs().first().click();
  const link = panel().getByRole("link", { name: "Show module" });
  await link.scrollIntoViewIfNeeded();
  const before = await link.boundingBox();
  answered = true;
  await Promise.all(held.map((route) => route.continue()));
  await panel().locator(".sync-timeline-block").first().waitFor();
  expect(await link.boundingBox()).toEqual(before);
});

test("the chain leads to the module, and the module to its syncs", async () => {
  await syncs().first().click();
  await page.getByRole("link", { name: "Show module" }).click();
  const module = page.getByRole("complementary", { name: "Module" });
  await module.getByRole("heading", { name: "head" }).first().waitFor();
  await module.getByRole("link", { name: "Show in Syncs" }).click();
  await page.getByText("1 of 2").waitFor();
  expect(await modules()).toEqual(["head"]);
});

test("what resembles a sync is listed apart", async () => {
  const apart = page.getByRole("region", { name: "Not syncs" });
  expect(await apart.textContent()).toMatch(/0 device-side waits.*0 launches.*0 allocations/);
});

test("a trace without syncs says so", async () => {
  await chooseRun(page, "tiny");
  await page.getByText("There are no device events here").waitFor();
});

test("no serious fault found by axe in light and dark mode", async () => {
  await syncs().first().click();
  await panel().locator(".sync-timeline-block").first().waitFor();
  expect(await seriousFaultsInModes(page)).toEqual([]);
});

test("hostile names stay text, and within the page", async () => {
  await page.goto(`${url}#/syncs?run=hostile`);
  await expect.poll(() => syncs().count()).toBe(2);
  const chains: string[] = [];
  for (const index of [0, 1]) {
    await syncs().nth(index).click();
    await panel().locator(".sync-timeline-block").first().waitFor();
    chains.push(await panel().locator("pre").innerText());
  }
  expect(await page.locator("img").count()).toBe(0);
  expect(chains.join()).toContain("<img src=x onerror=alert(1)>");
  const size = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
  expect(size).toEqual([1280, 720]);
});
