import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { seriousFaults, seriousFaultsInModes } from "./axe";
import { adding, page, requests, test, url, visiting } from "./scene";

adding((logdir) => {
  logdir.addRecorded("recorded", "late_rank.late");
});

visiting("#/whatif?run=device", () => sentence().waitFor());

const answer = (): Locator => page.getByRole("region", { name: "Answer" });
const sentence = (): Locator => answer().locator(".whatif-verdict");
/** Its text; numbers stay on one line with their units. */
const said = async (): Promise<string> =>
  (await sentence().textContent())?.replaceAll("\u00a0", " ") ?? "";
const bars = (): Locator => answer().getByRole("img");
const factor = (name: string): Locator =>
  page.getByRole("spinbutton", { name: `${name}, factor as a number` });

interface Asked {
  replayed_us: number;
  predicted_us: number;
  low_us: number;
  high_us: number;
  path_kinds: { kind: string; slack_us: number | null }[];
}

async function ask(query: string): Promise<Asked> {
  const response = await fetch(`${url}api/whatif?run=device&worker=gpu0${query}`);
  return (await response.json()) as Asked;
}

const written = (us: number): string =>
  us < 999.95 ? `${us.toFixed(1)} us` : `${(us / 1000).toFixed(2)} ms`;

test("nothing is changed at first, and the page says what to do", async () => {
  const { replayed_us: now } = await ask("");
  expect(await said()).toContain(`A step takes ${written(now)} `);
  expect(await bars().count()).toBe(1);
  await answer().getByText("Take out a finding or change a factor below").waitFor();
});

test("a finding is taken out: bars, bounds and address follow", async () => {
  const list = page.getByRole("region", { name: "Findings that are gone" });
  await list.getByRole("checkbox").first().check();
  await expect.poll(() => bars().count()).toBe(2);
  const id = new URL(page.url()).hash.split("without=")[1] ?? "";
  const expected = await ask(`&without=${id}`);
  const [now, then, low, high] = [
    expected.replayed_us,
    expected.predicted_us,
    expected.low_us,
    expected.high_us,
  ].map(written);
  const bounds = low === high ? "both bounds agree" : `between ${low} and ${high}`;
  await expect.poll(said).toBe(`Was ${now} per step, would be ${then} (${bounds}).`);
  await list.getByRole("button", { name: "None" }).click();
  await expect.poll(() => bars().count()).toBe(1);
  await list.getByRole("button", { name: "All" }).click();
  await expect.poll(() => list.locator("input:not(:checked):enabled").count()).toBe(0);
});

test("a finding whose saving is not estimated is not offered, and a link to it leads on", async () => {
  const report = await fetch(`${url}api/report?run=recorded&worker=rank0`);
  const { findings } = (await report.json()) as {
    findings: { id: string; title: string; gain_us_per_step: number | null }[];
  };
  const unknown = findings.find((finding) => finding.gain_us_per_step === null);
  const list = page.getByRole("region", { name: "Findings that are gone" });
  await page.goto(`${url}#/whatif?run=recorded`);
  await list.locator("input:disabled").first().waitFor();
  await page.goto(`${url}#/whatif?run=recorded&without=${encodeURIComponent(unknown?.id ?? "")}`);
  await page.getByRole("heading", { name: "No prediction available" }).waitFor();
  await list.locator("input:checked").waitFor();
  await page.getByRole("button", { name: "Start over" }).click();
  await sentence().waitFor();
});

test("a link brings the question back", async () => {
  await page.goto(`${url}#/whatif?run=device&scale=host%3D0.5&scale=module%3Ahead%3D2`);
  const { predicted_us: then } = await ask("&scale=host%3D0.5&scale=module%3Ahead%3D2");
  await expect.poll(said).toContain(`would be ${written(then)}`);
  expect(await factor("Host").inputValue()).toBe("0.5");
  expect(await factor("module head").inputValue()).toBe("2");
  await page.getByRole("button", { name: "Remove module head" }).click();
  await expect.poll(() => page.url()).not.toContain("head");
  await page.goBack();
  await expect.poll(() => factor("module head").inputValue()).toBe("2");
});

test("a factor answers by the keyboard, and only when it rests", async () => {
  const asked = (): number => requests().filter((one) => one.includes("api/whatif")).length;
  const before = asked();
  const slider = page.getByRole("slider", { name: "Host, factor" });
  await slider.focus();
  for (let press = 0; press < 10; press++) await page.keyboard.press("ArrowLeft");
  await expect.poll(() => page.url()).toContain("scale=host%3D0.5");
  await expect.poll(() => bars().count()).toBe(2);
  expect(await factor("Host").inputValue()).toBe("0.5");
  expect(asked() - before).toBeLessThan(10);
});

test("a kernel is added by its name", async () => {
  await page.getByLabel("What to add").selectOption("kernel");
  await page.getByRole("button", { name: "Add" }).click();
  expect(await factor("kernel gemm").inputValue()).toBe("0.5");
  await expect.poll(() => bars().count()).toBe(2);
});

test("modules and kinds have their time on the path and their slack", async () => {
  const tables = page.getByRole("region", { name: "Critical path by module and kind" });
  await expect.poll(() => tables.getByRole("table").count()).toBe(2);
  const { path_kinds: kinds } = await ask("");
  const rows = tables.getByRole("table").nth(1).locator("tbody tr");
  expect(await rows.getByRole("rowheader").allTextContents()).toEqual(
    kinds.map(({ kind }) => (kind === "matrix" ? "GEMM" : kind)),
  );
  const written = await rows.locator("td:last-child").allTextContents();
  expect(written.map((text) => text === "none")).toEqual(
    kinds.map(({ slack_us: slack }) => slack === 0),
  );
});

test("syncs are taken out, and what is not there cannot be", async () => {
  await page.getByRole("checkbox", { name: "Remove all syncs" }).check();
  const { predicted_us: then } = await ask("&scale=syncs%3D0");
  await expect.poll(said).toContain(`would be ${written(then)}`);
  await page.getByText("no collectives here").waitFor();
});

test("nothing moves when an answer comes", async () => {
  const question = page.locator(".whatif-question");
  const before = await question.boundingBox();
  await page.getByRole("checkbox", { name: "Remove all syncs" }).check();
  await expect.poll(() => bars().count()).toBe(2);
  expect((await question.boundingBox())?.y).toBe(before?.y);
});

test("what cannot be answered says why, and leads back", async () => {
  await page.goto(`${url}#/whatif?run=device&without=gone%3Ahere`);
  await page.getByRole("alert").getByText("no finding 'gone:here' in this trace").waitFor();
  await page.getByText("Not found here").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Start over" }).click();
  await sentence().waitFor();
});

test("steps that cannot be replayed say why, and nothing is asked", async () => {
  await page.goto(`${url}#/whatif?run=lost`);
  await page.getByRole("alert").getByText("The trace has the launches of 0%").waitFor();
  expect(await page.locator(".whatif-question").count()).toBe(0);
});

const lanes = (): Locator =>
  page.getByRole("region", { name: "Recorded and predicted lanes", exact: true });
const picture = (): Locator => lanes().getByRole("img");

test("lanes as predicted lie below those as recorded, and follow the question", async () => {
  await expect.poll(() => picture().getAttribute("aria-label")).toContain("as recorded");
  const { replayed_us: now } = await ask("");
  await expect.poll(() => picture().getAttribute("aria-label")).toContain(written(now));
  const titles = await lanes().getByRole("listitem").allInnerTexts();
  const half = titles.length / 2;
  expect(titles.slice(0, half).every((title) => title.includes("recorded"))).toBe(true);
  expect(titles.slice(half).every((title) => title.includes("predicted"))).toBe(true);
  await page.goto(`${url}#/whatif?run=device&scale=host%3D0.5`);
  const { predicted_us: then } = await ask("&scale=host%3D0.5");
  expect(then).toBeLessThan(now);
  const predicted = /as predicted ([\d.]+ [um]s)/;
  const shown = async (): Promise<string | undefined> =>
    predicted.exec((await picture().getAttribute("aria-label")) ?? "")?.[1];
  const before = written(now);
  await expect.poll(shown).toBeDefined();
  await expect.poll(async () => (await shown()) !== before).toBe(true);
});

test("the lanes are looked at more closely by the keyboard", async () => {
  const view = lanes().locator(".lanes-in-view");
  await expect.poll(() => view.innerText()).toContain("ms in view");
  const whole = await view.innerText();
  await lanes().getByRole("button", { name: "Zoom in" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => view.innerText()).not.toBe(whole);
  await lanes().getByRole("button", { name: "Later" }).focus();
  await page.keyboard.press("Enter");
  await lanes().getByRole("button", { name: "All steps" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => view.innerText()).toBe(whole);
});

test("a finding leads here", async () => {
  await page.goto(`${url}#/findings?run=device`);
  await page.getByRole("link", { name: "What if this were fixed" }).click();
  await expect.poll(() => bars().count()).toBe(2);
  expect(await page.locator(".whatif-findings input:checked").count()).toBe(1);
});

test("no serious fault found by axe in light and dark mode", async () => {
  await page.setViewportSize({ width: 1024, height: 720 });
  await page.goto(`${url}#/whatif?run=device&scale=host%3D0.5&scale=kernel%3Agemm%3D2`);
  await expect.poll(() => bars().count()).toBe(2);
  for (const text of ["What is not offered, and why", "What the words mean"]) {
    await page.getByText(text).click();
  }
  expect(await seriousFaultsInModes(page)).toEqual([]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBe(1024);
});

test("hostile names stay text, and within the page", async () => {
  await page.goto(`${url}#/whatif?run=hostile`);
  await sentence().waitFor();
  await page.getByLabel("What to add").selectOption("module");
  await page.getByRole("button", { name: "Add" }).click();
  await expect.poll(() => page.locator(".whatif-factor .name").count()).toBe(1);
  expect(await page.locator("img").count()).toBe(0);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBe(1280);
});
