import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { drawn as drawnOn, parameter as parameterOf } from "./canvas";
import { seriousFaultsInModes } from "./axe";
import { adding, page, test, url, visiting } from "./scene";

const MARKUP = `<img src=x onerror="document.title='taken'">`;
const LONG = "k".repeat(10_000);

adding((logdir) => {
  logdir.addDevice("hostile kernels", [
    { path: MARKUP, className: "<script>alert(1)</script>", syncUs: 500 },
    { path: "\u202Eطبقة", className: "Linear" },
    { path: LONG, className: LONG },
  ]);
});

visiting("#/timeline?run=device", () => drawn());

const canvas = (): Locator => page.getByRole("application", { name: /^Timeline/ });
const selection = (): Locator => page.getByRole("region", { name: "Selection" });
const heading = (name: string | RegExp): Locator => selection().getByRole("heading", { name });

const drawn = (): Promise<void> => drawnOn(canvas());
const parameter = (name: string): string | null => parameterOf(page.url(), name);

interface Spot {
  id: number;
  lane: string;
  depth: number;
  start: number;
  duration: number;
}

/** An event of the run on show, as the server sends it. */
async function event(name: string): Promise<Spot> {
  const query = `run=device&worker=gpu0&q=${encodeURIComponent(name)}`;
  const answer = await fetch(`${url}api/timeline/search?${query}`);
  const { hits } = (await answer.json()) as { hits: Spot[] };
  const [first] = hits;
  if (first === undefined) throw new Error(`no event ${name}`);
  return first;
}

async function search(text: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  await selection().getByRole("heading").first().waitFor();
}

test("search, follow a link, go back, and come back by the address", async () => {
  await search("cudaStreamSynchronize");
  await heading("cudaStreamSynchronize").waitFor();
  expect(parameter("q")).toBe("cudaStreamSynchronize");
  const chain = selection().getByRole("region", { name: "Chain" });
  expect(await chain.innerText()).toContain("aten::item");
  await page.keyboard.press("Enter");
  await page.getByText("2 of 2").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox", { name: "Search names of events" }).fill("gemm");
  await page.getByRole("button", { name: "Next" }).click();
  await heading("gemm").waitFor();
  await selection().getByRole("group", { name: "Links" }).getByRole("button").first().click();
  await heading("cudaLaunchKernel").waitFor();
  const address = page.url();
  const announced = page.locator("#timeline-selected");
  await expect.poll(() => announced.innerText()).toContain("cudaLaunchKernel, 5.0 us");
  await page.goBack();
  await heading("gemm").waitFor();
  await page.goto("about:blank");
  await page.goto(address);
  await heading("cudaLaunchKernel").waitFor();
  expect(parameter("q")).toBe("gemm");
  expect(page.url()).toBe(address);
});

test("a click selects the block that is drawn there", async () => {
  const wanted = await event("aten::item");
  const { start, duration } = wanted;
  const view = `from=${String(start - duration)}&to=${String(start + 2 * duration)}`;
  await page.goto(`${url}#/timeline?run=device&${view}&event=${String(wanted.id)}`);
  await heading("aten::item").waitFor();
  const box = await canvas().boundingBox();
  if (box === null) throw new Error("no canvas");
  await page.keyboard.press("Escape");
  await selection().waitFor({ state: "detached" });
  await drawn();
  // The lane of the event, found from the height of the lanes' labels.
  const lane = page.locator(".lane-labels li").nth(Number(wanted.lane));
  await lane.scrollIntoViewIfNeeded();
  const label = await lane.boundingBox();
  if (label === null) throw new Error("no lane");
  const at = { x: box.x + box.width / 2, y: label.y + 5 + wanted.depth * 16 + 8 };
  await page.mouse.move(at.x, at.y);
  await page.locator(".chart-tooltip", { hasText: "aten::item" }).waitFor();
  await page.mouse.click(at.x, at.y);
  await heading("aten::item").waitFor();
  await page.keyboard.press("Shift+ArrowDown");
  await heading("cudaStreamSynchronize").waitFor();
});

test("dragging selects a span and shows what happened in it", async () => {
  const box = await canvas().boundingBox();
  if (box === null) throw new Error("no canvas");
  await page.mouse.move(box.x + box.width * 0.2, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await heading(/selected$/).waitFor();
  expect(await selection().innerText()).toContain("gemm");
  expect(await selection().innerText()).toMatch(/syncs\s+2/);
  expect(parameter("range")).toMatch(/^[\d.]+\.\.[\d.]+$/);
  await page.keyboard.press("m");
  await expect.poll(() => parameter("mark")).toBe(parameter("range"));
  await page.keyboard.press("Escape");
  await page.getByText("select a span").waitFor();
  expect(parameter("range")).toBeNull();
});

test("a piece of the critical path leads to what ran, and says by which edge", async () => {
  const label = page.locator(".lane-labels li", { hasText: "critical path" });
  const at = await label.boundingBox();
  const box = await canvas().boundingBox();
  if (at === null || box === null) throw new Error("no lane");
  await page.getByRole("list", { name: "Colours of the critical path" }).waitFor();
  const pieces = async (): Promise<string> => {
    await page.mouse.move(box.x + box.width / 2, at.y + 13);
    await page.mouse.click(box.x + box.width / 2, at.y + 13);
    return selection().innerText();
  };
  await expect.poll(pieces).toContain("critical path on");
  const links = selection().getByRole("group", { name: "Links" });
  await expect.poll(() => links.innerText()).toMatch(/(follows|leads to) \([a-z-]+, by [a-z ]+\)/);
  await links.getByRole("button").first().click();
  await expect.poll(() => selection().innerText()).not.toContain("critical path on");
});

test("without launches the critical path says why there is none", async () => {
  await page.goto(`${url}#/timeline?run=lost`);
  const label = page.locator(".lane-labels li", { hasText: "critical path" });
  expect(await label.innerText()).toContain("launches of 0%");
  expect(await page.getByRole("list", { name: "Colours of the critical path" }).count()).toBe(0);
});

test("lanes can be folded, and say how many rows they have", async () => {
  const lane = page.locator(".lane-labels li", { hasText: "autograd thread" });
  const height = async (): Promise<number> => (await lane.boundingBox())?.height ?? 0;
  const before = await height();
  await lane.getByRole("button").click();
  expect(await lane.getByRole("button").getAttribute("aria-expanded")).toBe("false");
  expect(await lane.innerText()).toMatch(/1 of \d rows/);
  expect(await height()).toBeLessThanOrEqual(before);
});

test("a pinned lane comes first and stays, in the address too", async () => {
  const first = page.locator(".lane-labels li").first();
  await page
    .getByRole("combobox", { name: /^Arrange .*autograd thread/ })
    .selectOption("Pin on top");
  await expect.poll(() => first.innerText()).toContain("autograd thread");
  expect(parameter("pin")).toMatch(/^\d+$/);
  await page.reload();
  await expect.poll(() => first.innerText()).toContain("autograd thread");
  await page
    .getByRole("combobox", { name: /^Arrange .*autograd thread/ })
    .selectOption("Reset all lanes");
  await expect.poll(() => first.innerText()).toContain("Steps");
  expect(parameter("pin")).toBeNull();
});

test("names out of a trace are text, whatever they hold", async () => {
  await page.goto(`${url}#/timeline?run=hostile%20kernels`);
  await drawn();
  await search("onerror");
  await heading(MARKUP).waitFor();
  await page.getByRole("searchbox", { name: "Search names of events" }).fill("kkkk");
  await page.getByRole("button", { name: "Next" }).click();
  await heading(/^kkkk/).waitFor();
  const text = await selection().innerText();
  expect(text.length).toBeLessThan(5000);
  expect(await page.locator("img, script:not([src])").count()).toBe(0);
  expect(await page.title()).not.toBe("taken");
  const size = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
  expect(size).toEqual([1280, 720]);
});

test("no serious fault found by axe in light and dark mode", async () => {
  await search("cudaStreamSynchronize");
  await heading("cudaStreamSynchronize").waitFor();
  expect(await seriousFaultsInModes(page)).toEqual([]);
});

test("a trace without a device has its lanes too", async () => {
  await page.goto(`${url}#/timeline?run=tiny`);
  await drawn();
  await page.locator(".lane-labels li", { hasText: "main thread" }).first().waitFor();
});

test("hits are listed, lanes filtered and coloured by name, as the address says", async () => {
  await page.getByRole("searchbox", { name: "Search names of events" }).fill("aten");
  const hits = page.getByRole("complementary", { name: "Hits" });
  await hits
    .getByRole("button", { name: /aten::/ })
    .first()
    .click();
  await selection().waitFor();
  const lanes = page.getByRole("list", { name: "Lanes" }).getByRole("listitem");
  const all = await lanes.count();
  await page.getByRole("searchbox", { name: "Filter lanes" }).fill("main thread");
  await expect.poll(() => lanes.count()).toBeLessThan(all);
  await page.getByRole("button", { name: "by name" }).click();
  await expect.poll(() => parameter("colours")).toBe("name");
  expect(parameter("lanefilter")).toBe("main thread");
});
