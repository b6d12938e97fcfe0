import type { Page } from "playwright-core";
import { expect } from "vitest";

import { ruleTitle } from "./browser";
import { parameter } from "./canvas";
import { seriousFaults, seriousFaultsInModes } from "./axe";
import { page, test, url, visiting } from "./scene";

visiting("#/findings?run=device", () => findings().first().waitFor());

const findings = (): ReturnType<Page["locator"]> => page.locator(".finding");
const opened = (): ReturnType<Page["locator"]> => page.locator(".finding.open");
const wheres = (): Promise<string[]> => page.locator(".finding-what .code").allTextContents();

test("the first is open, with evidence, fix, reference, price and examples", async () => {
  expect(await findings().count()).toBeGreaterThan(1);
  expect(await opened().count()).toBe(1);
  expect(await findings().first().getAttribute("class")).toContain("open");
  for (const name of ["Evidence", "Fix", "Cost", "Examples"]) {
    await opened().getByRole("region", { name }).waitFor();
  }
  expect(
    await opened()
      .getByText(/^Reference: /)
      .count(),
  ).toBe(1);
  expect(
    await opened()
      .getByText(/^Confidence (high|medium|low)\. /)
      .count(),
  ).toBe(1);
  expect(await page.locator(".figure dt").first().textContent()).toMatch(/of \d+ rules/);
});

test("the list says what the report says", async () => {
  const answer = await fetch(`${url}api/report?run=device&worker=gpu0`);
  const report = (await answer.json()) as {
    findings: { where: string }[];
  };
  expect(await wheres()).toEqual(report.findings.map(({ where }) => where));
});

test("one opens and closes another, and the address says which", async () => {
  const second = findings().nth(1).getByRole("button").first();
  await second.click();
  expect(await second.getAttribute("aria-expanded")).toBe("true");
  expect(await opened().count()).toBe(1);
  const address = page.url();
  await second.click();
  await expect.poll(() => opened().count()).toBe(0);
  await page.goto(address);
  await expect
    .poll(() => opened().locator(".finding-what .code").textContent())
    .toBe((await wheres())[1]);
});

test("filters and search narrow, and say how far", async () => {
  const all = await findings().count();
  await page.getByLabel("rule").selectOption("sync-scalar-item");
  await page.getByText(`2 of ${all}`).waitFor();
  await page.getByRole("searchbox").fill("HEAD");
  await page.getByText(`1 of ${all}`).waitFor();
  expect(await wheres()).toEqual(["head, LinearBackward0"]);
  await page.goto(`${url}#/findings?run=device&severity=none`);
  await page.getByText("No finding matches the search and filters.").waitFor();
});

test("an example leads to the sync, and the sync back to the finding", async () => {
  await page.goto(`${url}#/findings?run=device&rule=sync-scalar-item&q=head`);
  await opened().getByRole("link", { name: "sync", exact: true }).first().click();
  const panel = page.getByRole("complementary", { name: "Sync", exact: true });
  await panel.getByText("LinearBackward0").first().waitFor();
  await panel.getByRole("link", { name: "Evidence in Findings" }).click();
  await expect
    .poll(() => opened().locator(".finding-what .code").textContent())
    .toBe("head, LinearBackward0");
});

test("an example leads to its event on the timeline, which is selected and fits", async () => {
  await page.goto(`${url}#/findings?run=device&rule=sync-scalar-item&q=head`);
  await opened().getByRole("link", { name: "timeline" }).first().click();
  await expect.poll(() => page.url()).toContain("#/timeline");
  await page.getByRole("heading", { name: "cudaStreamSynchronize" }).waitFor();
  expect(parameter(page.url(), "event")).not.toBeNull();
  expect(parameter(page.url(), "range")).toBeNull();
  const [from, to] = ["from", "to"].map((name) => Number(parameter(page.url(), name)));
  const length = (to ?? 0) - (from ?? 0);
  expect(length).toBeGreaterThan(500);
  expect(length).toBeLessThan(1000);
});

test("a sync is drawn from the timeline", async () => {
  await page.goto(`${url}#/findings?run=device&rule=sync-scalar-item&q=head`);
  const picture = opened().getByRole("region", { name: "Timeline" });
  await picture.getByText("sync 500.0 us").waitFor();
  expect(await picture.locator(".sync-timeline-block").count()).toBeGreaterThan(2);
});

test("one and all can be copied as Markdown", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const text = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
  await opened().getByRole("button", { name: "Copy as Markdown" }).click();
  await opened().getByText("Copied").waitFor();
  expect(await text()).toMatch(/^### .*\n\n`.*\*\*Fix\*\*: .*\*\*Reference\*\*/s);
  await page.getByRole("button", { name: "Copy all as Markdown" }).click();
  await page.getByRole("button", { name: "Copied", exact: true }).waitFor();
  expect((await text()).match(/^### /gm)).toHaveLength(await findings().count());
});

test("no finding says where the time goes and what was looked for", async () => {
  await page.goto(`${url}#/findings?run=quiet`);
  await page.getByRole("heading", { name: "No findings" }).waitFor();
  await page.getByText(/None of \d+ rules matched in \d+ steps?/).waitFor();
  await page.getByText("The trace holds no device events").waitFor();
  await page.getByText(/Most time: .+, \d+\.\d% of the time of all operators/).waitFor();
  await page.getByText(/rules checked/).click();
  await page.getByText(await ruleTitle(url, "sync-scalar-item")).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test("no serious fault found by axe in light and dark mode", async () => {
  await page.goto(`${url}#/findings?run=device&rule=sync-scalar-item&q=head`);
  await page.locator(".sync-timeline-block").first().waitFor();
  expect(await seriousFaultsInModes(page)).toEqual([]);
  const size = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
  expect(size).toEqual([1280, 720]);
});

test("hostile names stay text, and within the page", async () => {
  await page.goto(`${url}#/findings?run=hostile&rule=sync-scalar-item`);
  await expect.poll(() => findings().count()).toBe(2);
  await opened().locator(".sync-timeline-block").first().waitFor();
  expect(await page.locator("img").count()).toBe(0);
  expect((await wheres()).join()).toContain("<img src=x onerror=alert(1)>");
  const size = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
  expect(size).toEqual([1280, 720]);
});
