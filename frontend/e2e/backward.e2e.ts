import { expect } from "vitest";

import { chooseRun, firstCells, row } from "./browser";
import { adding, page, test, url, visiting } from "./scene";

adding((logdir) => {
  logdir.addDevice(
    "large",
    Array.from({ length: 5000 }, (_, i) => ({ path: `layers.${i}`, className: "Linear" })),
  );
});

visiting("#/modules?run=tiny", () => row(page, "blocks").waitFor());

const go = async (hash: string): Promise<void> => {
  await page.goto(`${url}${hash}`);
};
const sortBy = (title: string): Promise<void> =>
  page.getByRole("columnheader", { name: title }).getByRole("button").click();
const search = (text: string): Promise<void> => page.getByRole("searchbox").fill(text);

test("the first load shows figures, picture and modules", async () => {
  const figures = await page.locator(".figure dt").allTextContents();
  expect(figures[0]).toContain("step · mean of 1 of 2");
  expect(figures).toContain("backward, host");
  expect(await page.locator(".figure dd").first().textContent()).toMatch(/^\d+\.\d+ ms$/);
  expect(await page.locator(".icicle .block").count()).toBeGreaterThan(10);
  expect(await firstCells(page)).toContain("blocks.0");
  await page.getByText("This trace holds no device: times are the host’s.").waitFor();
  expect(await page.getByRole("row", { name: "not attributed" }).count()).toBe(1);
});

test("a search keeps the way down to what it finds", async () => {
  await search("1.attn.out");
  await page.getByText("1 found").waitFor();
  expect(await firstCells(page)).toEqual(["(root)", "blocks", "blocks.1", "attn", "out_proj"]);
  await search("no such module");
  await page.getByText("No module's path, class or kernels hold this text.").waitFor();
});

test("sorting orders siblings, and turns round at the second click", async () => {
  await sortBy("module");
  await expect.poll(() => page.url()).toContain("sort=module");
  const forward = (await firstCells(page)).filter((text) => /^blocks\.\d$/.test(text));
  expect(forward).toEqual(["blocks.0", "blocks.1", "blocks.2"]);
  await sortBy("module");
  await expect.poll(() => page.url()).toContain("sort=-module");
  const backward = (await firstCells(page)).filter((text) => /^blocks\.\d$/.test(text));
  expect(backward).toEqual(["blocks.2", "blocks.1", "blocks.0"]);
});

test("rows fold and unfold: one, all, to a level", async () => {
  await page.getByRole("button", { name: "Collapse all" }).click();
  expect(await firstCells(page)).toEqual(expect.arrayContaining(["(root)", "loss"]));
  expect(await firstCells(page)).not.toContain("blocks");
  await row(page, "(root)").locator(".fold").click();
  await row(page, "blocks").waitFor();
  await page.getByLabel("Show levels").selectOption("3");
  await row(page, "blocks.1").waitFor();
  expect(await firstCells(page)).not.toContain("attn");
  await page.getByRole("button", { name: "Expand all" }).click();
  expect((await firstCells(page)).filter((text) => text === "attn")).toHaveLength(3);
});

test("the keyboard moves, folds, unfolds and selects", async () => {
  await page.getByRole("button", { name: "Collapse all" }).click();
  const table = page.getByRole("treegrid", { name: "Modules" });
  const cursor = page.locator(".at-cursor");
  await table.focus();
  await page.keyboard.press("Home");
  await expect.poll(() => cursor.getAttribute("aria-expanded")).toBe("false");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => cursor.getAttribute("aria-expanded")).toBe("true");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => cursor.getAttribute("aria-level")).toBe("2");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "Module" }).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => cursor.getAttribute("aria-level")).toBe("1");
});

test("a selected row opens the panel with both directions", async () => {
  await row(page, "head").click();
  const panel = page.getByRole("complementary", { name: "Module" });
  await panel.getByRole("heading", { name: "head" }).waitFor();
  expect(await panel.getByRole("columnheader").allTextContents()).toEqual(
    expect.arrayContaining(["forward", "backward"]),
  );
  await panel.getByText("No syncs in this module.").waitFor();
  await panel.getByRole("button", { name: "Close" }).click();
  await panel.waitFor({ state: "detached" });
});

test("a click in the picture selects, zooms, and the breadcrumb leads back", async () => {
  await page.locator(".icicle .block", { hasText: /^blocks ·/ }).click();
  await expect.poll(() => page.url()).toContain("zoom=blocks");
  await page.getByRole("heading", { name: "blocks" }).waitFor();
  expect(await row(page, "blocks").getAttribute("aria-selected")).toBe("true");
  await page.getByRole("button", { name: "all modules", exact: true }).click();
  await expect.poll(() => page.url()).not.toContain("zoom");
});

test("hovering a row marks its block", async () => {
  await row(page, "blocks").hover();
  await page.locator(".icicle .block.hovered", { hasText: /^blocks ·/ }).waitFor();
});

test("the address restores what was shown", async () => {
  await go("#/modules?run=tiny&step=ProfilerStep%233&module=blocks.1&zoom=blocks&q=1&sort=-self");
  await page.getByRole("heading", { name: "blocks.1" }).waitFor();
  expect(await page.getByRole("searchbox").inputValue()).toBe("1");
  expect(await page.getByLabel("steps").inputValue()).toBe("step:ProfilerStep#3");
  expect(await page.getByRole("navigation", { name: "Subtree shown" }).textContent()).toContain(
    "blocks",
  );
  const sorted = page.getByRole("columnheader", { name: "host self" });
  expect(await sorted.getAttribute("aria-sort")).toBe("descending");
  await page.reload();
  await page.getByRole("heading", { name: "blocks.1" }).waitFor();
});

test("back and forward work", async () => {
  await row(page, "head").click();
  await page.getByRole("heading", { name: "head" }).waitFor();
  await page.goBack();
  await page.getByRole("complementary", { name: "Module" }).waitFor({ state: "detached" });
  await page.goForward();
  await page.getByRole("heading", { name: "head" }).waitFor();
});

test("steps can be added up instead of averaged, and looked at one by one", async () => {
  const calls = (): Promise<string | null> =>
    row(page, "(root)").getByRole("gridcell").nth(1).textContent();
  expect(await calls()).toBe("1");
  await page.getByLabel("steps").selectOption("total");
  await expect.poll(calls).toBe("2");
  await page.getByText("backward, host · in 2 steps").waitFor();
  await page.getByLabel("steps").selectOption("step:ProfilerStep#3");
  await expect.poll(calls).toBe("1");
});

test("a trace with a device shows device time, and marks the sync", async () => {
  await chooseRun(page, "one sync");
  await row(page, "head").waitFor();
  expect(await page.getByRole("columnheader", { name: "device total" }).count()).toBe(1);
  const cells = await row(page, "head").getByRole("gridcell").allTextContents();
  expect(cells[2]).toBe("40.0 us");
  expect(await row(page, "head").locator(".look").first().textContent()).toBe("500.0 us");
  expect(await page.locator(".icicle .block.look").count()).toBe(1);
});

test("five thousand modules scroll without blank rows", async () => {
  await go("#/modules?run=large&sort=order");
  await row(page, "layers.0").waitFor();
  const table = page.getByRole("treegrid", { name: "Modules" });
  expect(Number(await table.getAttribute("aria-rowcount"))).toBe(5002);
  for (const part of [0.2, 0.5, 0.9, 1, 0]) {
    const blank = await table.evaluate(async (element, at) => {
      element.scrollTop = (element.scrollHeight - element.clientHeight) * at;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const box = element.getBoundingClientRect();
      const heights = [0.2, 0.4, 0.6, 0.8].map((y) => box.top + 40 + (box.height - 80) * y);
      return heights.filter(
        (y) => document.elementFromPoint(box.left + 60, y)?.closest("[role=row]") === null,
      );
    }, part);
    expect(blank).toEqual([]);
  }
  await table.focus();
  await page.keyboard.press("End");
  await row(page, "layers.4999").waitFor();
});
