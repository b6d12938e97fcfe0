import { expect } from "vitest";

import { drawn, parameter } from "./canvas";
import { seriousFaults } from "./axe";
import { logdir, page, test, visit, visiting } from "./scene";

visiting("#/ranks?run=late", () => page.locator(".rank-heat canvas").waitFor());

const map = (): ReturnType<typeof page.locator> =>
  page.getByRole("application", { name: /4 steps of 4 ranks/ });
const readout = (): Promise<string | null> => page.locator(".rank-heat-readout").textContent();

test("the straggler is named with its module and what a step gains", async () => {
  const late = page.getByRole("region", { name: "Stragglers" });
  await expect.poll(() => late.textContent()).toContain("Rank 2 is a straggler");
  await expect.poll(() => late.textContent()).toContain("more than the others in module b");
  const views = page.getByRole("navigation", { name: "Views" });
  await expect.poll(() => views.getByTitle("1 straggler").textContent()).toBe("1");
  await drawn(page.locator(".rank-heat canvas"), 2);
  expect(await page.locator(".rank-heat-ranks .late").allInnerTexts()).toEqual(["2"]);
  expect(await page.locator(".rank-heat-outline.late").count()).toBe(1);
  expect(await page.locator(".band .path-head").innerText()).toContain("mean over ranks");
  await page.locator(".cell-look").first().waitFor();
  expect((await page.locator(".cell-look").allInnerTexts())[0]).toBe("2");
  expect(await seriousFaults(page)).toEqual([]);
});

test("the keyboard walks over the map and selects a cell, which the address keeps", async () => {
  await map().focus();
  for (const key of ["ArrowDown", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await expect.poll(readout).toContain("rank 2, step 1: straggler wait");
  await page.keyboard.press("Enter");
  await expect.poll(() => parameter(page.url(), "rank")).toBe("2");
  expect(parameter(page.url(), "rankstep")).toBe("ProfilerStep#1");
  const panel = page.getByRole("complementary", { name: "Rank" });
  await expect.poll(() => panel.textContent()).toContain("Rank 2, step 1");
  await page.reload();
  await expect.poll(() => panel.textContent()).toContain("Came last to 1 collective;");
  await page.keyboard.press("Escape");
  await expect.poll(() => panel.count()).toBe(0);
});

test("pointing says the figures; another quantity is in the address", async () => {
  const box = await map().boundingBox();
  await map().hover({ position: { x: ((box?.width ?? 0) * 5) / 8, y: 5 } });
  await expect.poll(readout).toMatch(/rank 2, step 0: straggler wait 0 us, 0.0% of 17.00 ms/);
  const shown = page.getByRole("group", { name: "Show" });
  await shown.getByRole("button", { name: "communication" }).click();
  await expect.poll(() => parameter(page.url(), "heat")).toBe("communication");
});

test("a cell leads to that step in the timeline of that rank", async () => {
  const box = await map().boundingBox();
  await map().click({ position: { x: ((box?.width ?? 0) * 7) / 8, y: 5 } });
  await page.getByRole("link", { name: "Show the step in its timeline" }).click();
  await expect.poll(() => page.url()).toContain("#/timeline");
  expect(parameter(page.url(), "worker")).toBe("rank3");
  expect(parameter(page.url(), "range")).toBe("0..17000");
  await page.locator(".chart-lanes, [role=application]").first().waitFor();
});

test("collectives are charts and a table, of which a row leads to the late rank", async () => {
  await page.getByRole("button", { name: "Collectives" }).click();
  await page.getByRole("img", { name: /Durations of 4 collectives/ }).waitFor();
  await page.getByRole("img", { name: /Bus bandwidth of 1 size/ }).waitFor();
  await page.locator(".table-body [role=row]").first().click();
  await expect.poll(() => parameter(page.url(), "collective")).not.toBeNull();
  await page.getByRole("link", { name: /timeline of rank 2, which came last/ }).click();
  await expect.poll(() => page.url()).toContain("#/timeline");
  expect(parameter(page.url(), "worker")).toBe("rank2");
});

test("a rank's trace is named without the folders of the server", async () => {
  const rows = page.getByRole("grid", { name: "Ranks" }).locator(".table-body [role=row]");
  await rows.first().getByText("rank0.1.pt.trace.json", { exact: true }).waitFor();
  expect(await page.locator("body").innerText()).not.toContain(logdir.path);
});

test("sorting the ranks stays in the address", async () => {
  await page
    .getByRole("columnheader", { name: /straggler wait/ })
    .getByRole("button")
    .first()
    .click();
  await expect.poll(() => parameter(page.url(), "sort")).toContain("wait_us");
});

test("balance is by process groups that say what they are for", async () => {
  await page.getByRole("button", { name: "Balance" }).click();
  await expect.poll(() => page.locator(".balance h2").textContent()).toContain("mesh_dp");
  await expect.poll(() => page.locator(".balance").textContent()).toContain("replica");
});

test("only a run of several ranks offers the view; one rank says what to record", async () => {
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByRole("link", { name: "Ranks" }).waitFor();
  await visit("#/summary?run=alone");
  await page.locator(".content-inner[aria-busy=false]").waitFor();
  expect(await page.locator(".navigation").textContent()).not.toContain("Ranks");
  await visit("#/ranks?run=alone");
  await page.getByText(/one rank only: record every rank/).waitFor();
});

test("fits a window of 1,024 pixels", async () => {
  await page.setViewportSize({ width: 1024, height: 720 });
  await map().waitFor();
  const wide = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
  await expect.poll(wide).toBe(1024);
});

test("the summary of a rank's trace says who is late, and leads here", async () => {
  await visit("#/summary?run=late");
  const note = page.getByRole("region", { name: "Ranks of the run" });
  await expect.poll(() => note.textContent()).toContain("Rank 2 is a straggler (in module b)");
  await note.getByRole("link", { name: "4 ranks" }).click();
  await expect.poll(() => page.url()).toContain("#/ranks");
});
