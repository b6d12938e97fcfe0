import type { Page } from "playwright-core";
import { expect } from "vitest";

import { row } from "./browser";
import { seriousFaults } from "./axe";
import { adding, page, test, url, visiting } from "./scene";

adding((logdir) => {
  logdir.addDevice(
    "stopped",
    [
      { path: "", className: "Net" },
      { path: "head", className: "Linear", syncUs: 500 },
    ],
    "gpu0",
    20_000,
  );
  const row = { ph: "X", pid: 1, tid: 1, dur: 20, args: { correlation: 7, device: 0 } };
  const traceEvents = [
    { ...row, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: 50 },
    { ...row, cat: "kernel", name: "gemm", pid: 0, tid: 7, ts: 10 },
  ];
  logdir.addFile("odd clocks/a.1.pt.trace.json", JSON.stringify({ traceEvents }));
});

visiting("#/?run=device", () => verdict().waitFor());

const verdict = (): ReturnType<Page["getByRole"]> => page.getByRole("region", { name: "Verdict" });
const openDetails = (): Promise<void> => page.getByText(/^Details:/).click();
const figure = (name: RegExp): ReturnType<Page["getByRole"]> =>
  page.getByRole("list", { name: "Figures" }).getByRole("link", { name });

test("the page begins here, and its figures lead to where they come from", async () => {
  await openDetails();
  expect(await figure(/^host blocked/).innerText()).toContain("800.0 us/step");
  await figure(/^host blocked/).click();
  await expect.poll(() => page.url()).toContain("#/syncs");
  await page.goBack();
  await openDetails();
  await figure(/^backward/).click();
  await expect.poll(() => page.url()).toContain("#/modules");
  await page.goBack();
  await openDetails();
  await figure(/^step/).click();
  await expect.poll(() => page.url()).toContain("#/timeline");
});

test("host blocked is one figure on every view, without the profiler's own sync", async () => {
  await page.goto(`${url}#/summary?run=stopped`);
  await openDetails();
  await expect.poll(() => figure(/^host blocked/).innerText()).toContain("500.0 us/step");
  await page.goto(`${url}#/syncs?run=stopped`);
  const syncs = page.locator(".figures").getByText("500.0 us");
  await expect.poll(() => syncs.count()).toBeGreaterThan(0);
  await page.locator(".figures").getByText("20.00 ms").waitFor();
  expect(await page.locator(".look").getByText("20.00 ms").count()).toBe(0);
  await page.goto(`${url}#/modules?run=stopped`);
  await row(page, "(root)").waitFor();
  expect(await row(page, "head").locator(".blocked").first().textContent()).toBe("500.0 us");
  expect(await page.getByText("20.00 ms").count()).toBe(0);
});

test("the critical path is named, and what a finding saves leads to What-if", async () => {
  const path = page.getByRole("group", { name: /^Critical path per step: .*\d%/ });
  expect(await path.getByRole("link").count()).toBeGreaterThan(1);
  await page.goto(`${url}#/summary?run=stopped`);
  const findings = page.getByRole("region", { name: "Top findings" });
  await findings.getByRole("link", { name: /sav/ }).first().click();
  await expect.poll(() => page.url()).toContain("#/whatif");
});

test("what it says fits above the fold of a small screen", async () => {
  const heading = page.getByRole("region", { name: "Top findings" });
  const modules = page.getByRole("region", { name: "Top modules" });
  for (const part of [verdict(), heading, modules]) {
    const box = await part.boundingBox();
    expect((box?.y ?? 0) + 120).toBeLessThan(720);
  }
  const size = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(size).toBe(1280);
});

test("a module and a finding can be opened from here", async () => {
  await page
    .getByRole("region", { name: "Top modules" })
    .getByRole("link", { name: "Linear" })
    .click();
  await page.getByRole("complementary", { name: "Module" }).waitFor();
  await page.goto(`${url}#/summary?run=stopped`);
  const findings = page.getByRole("region", { name: "Top findings" });
  await findings.getByRole("listitem").first().getByRole("link").first().click();
  await expect.poll(() => page.url()).toContain("#/findings");
  expect(page.url()).toContain("finding=");
});

test("a step can be chosen and left again, by mouse and by keyboard", async () => {
  await page.goto(`${url}#/summary?run=tiny`);
  await openDetails();
  const row = page.getByRole("button", { name: /^Step 3,/ });
  await row.click();
  await expect.poll(() => page.url()).toContain("step=ProfilerStep%233");
  expect(await row.getAttribute("aria-pressed")).toBe("true");
  expect(await page.getByRole("button", { name: /^Step 2,/ }).count()).toBe(1);
  await row.press("Enter");
  await expect.poll(() => page.url()).not.toContain("step=");
});

test("a trace without a device says so and shows no device", async () => {
  await page.goto(`${url}#/summary?run=tiny`);
  await openDetails();
  await page.getByText("This trace holds no device events, so there is no busy").waitFor();
  expect(await figure(/^device busy/).count()).toBe(0);
  expect(await figure(/^forward/).innerText()).toContain("% of step");
  const operators = page.getByRole("region", { name: "Top modules" });
  expect(await operators.getByRole("link", { name: "operator" }).count()).toBe(1);
  expect(await operators.getByRole("row").count()).toBeGreaterThan(3);
  expect(await page.getByRole("region", { name: "Device events by kind" }).count()).toBe(0);
});

const severe = (): ReturnType<Page["getByRole"]> =>
  page.getByRole("list", { name: "Data-quality warnings" });

test("what makes its figures wrong comes after the verdict, and nothing where nothing does", async () => {
  expect(await severe().count()).toBe(0);
  await page.goto(`${url}#/summary?run=${encodeURIComponent("odd clocks")}`);
  expect(await severe().innerText()).toContain("up to 40.0 us before the call");
  const box = await severe().boundingBox();
  const findings = await page.getByRole("region", { name: "Top findings" }).boundingBox();
  expect(box?.y).toBeLessThan(findings?.y ?? 0);
  await openDetails();
  await page.getByText("not in this trace").first().waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test.each([600, 1024])("in a window of %d pixels nothing is cut or overlaps", async (width) => {
  await page.setViewportSize({ width, height: 720 });
  await openDetails();
  const wide = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await wide()).toBe(width);
  const legends = await boxes(".steps-heads .legend-entry");
  const apart = legends.every((one, at) =>
    legends.slice(at + 1).every((two) => !overlap(one, two)),
  );
  expect(apart).toBe(true);
  for (const { left, right } of await boxes(".shares .part-bar")) {
    expect(right - left).toBeGreaterThan(30);
    expect(right).toBeLessThan(width);
  }
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("dialog", { name: "Help" }).waitFor();
  const [help] = await boxes(".popover.help");
  expect(help?.left).toBeGreaterThanOrEqual(0);
  expect(help?.right).toBeLessThanOrEqual(width);
});

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

function boxes(selector: string): Promise<Box[]> {
  return page.locator(selector).evaluateAll((all) =>
    all.map((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return { left, right, top, bottom };
    }),
  );
}

function overlap(one: Box, two: Box): boolean {
  return (
    one.left < two.right && two.left < one.right && one.top < two.bottom && two.top < one.bottom
  );
}
