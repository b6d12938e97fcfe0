import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { firstCells, row } from "./browser";
import { compiledTrace, nestedTrace } from "./nested";
import { adding, page, test, url, visiting } from "./scene";

/** What the view of modules shows of each, and the panel of one. */

adding((logdir) => {
  logdir.addFile("nested/gpu0.1.pt.trace.json", JSON.stringify(nestedTrace()));
  logdir.addFile("inference/gpu0.1.pt.trace.json", JSON.stringify(nestedTrace(false)));
  logdir.addFile("compiled/gpu0.1.pt.trace.json", JSON.stringify(compiledTrace()));
});

visiting("#/modules?run=nested", () => row(page, "block").waitFor());

const go = async (hash: string): Promise<void> => {
  await page.goto(`${url}${hash}`);
};
const press = (group: string, name: string): Promise<void> =>
  page.getByRole("group", { name: group }).getByRole("button", { name, exact: true }).click();
const panel = (): Locator => page.getByRole("complementary", { name: "Module" });
const heads = (): Promise<string[]> => page.getByRole("columnheader").allTextContents();

test("the measure and the clock are switched, and are in the address", async () => {
  const total = (): Promise<string | null> =>
    row(page, "block").getByRole("gridcell").nth(2).textContent();
  await expect.poll(total).toBe("100.0 us");
  await press("Measure", "forward");
  await expect.poll(total).toBe("60.0 us");
  expect(page.url()).toContain("measure=forward");
  await press("Time of", "host");
  await expect.poll(total).toBe("110.0 us");
  await page.getByRole("columnheader", { name: "host total" }).waitFor();
  await page.goBack();
  await expect.poll(total).toBe("60.0 us");
  await page.reload();
  await expect.poll(total).toBe("60.0 us");
  const recompute = page.getByRole("button", { name: "recompute", exact: true });
  expect(await recompute.isDisabled()).toBe(true);
});

test("without a backward pass the view counts modules", async () => {
  const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
  await expect.poll(() => links.nth(1).textContent()).toMatch(/^Modules\d+%/);
  expect(await page.title()).toMatch(/^Modules /);
  await go("#/modules?run=inference");
  await page.getByText("There is no backward pass in this trace").waitFor();
  await expect.poll(() => links.nth(1).textContent()).toBe("Modules4backward, forward");
  expect(await page.title()).toMatch(/^Modules /);
  await links.first().click();
  await page.getByRole("region", { name: "Top modules" }).waitFor();
  expect(await links.nth(1).textContent()).toBe("Modules4backward, forward");
});

test("the forward is shown next to the backward, to the same scale", async () => {
  await page.getByLabel("show forward").check();
  await expect.poll(heads).toContain("forward");
  expect(page.url()).toContain("with=forward");
  const widths = await row(page, "block")
    .locator(".bar")
    .evaluateAll((bars) => bars.slice(0, 2).map((bar) => bar.getBoundingClientRect().width));
  expect(widths[1]).toBeLessThan(widths[0] ?? 0);
});

test("modules are grouped by class and by level, with their instances below", async () => {
  await press("Group by", "class");
  await expect
    .poll(() => firstCells(page))
    .toEqual(["Net", "(root)", "Block", "block", "Linear", "block.b", "block.a"]);
  await row(page, "Linear").first().click();
  await row(page, "block.a").waitFor({ state: "detached" });
  await row(page, "Linear").first().locator(".fold").click();
  await row(page, "block.a").click();
  await panel().getByRole("heading", { name: "a", exact: true }).waitFor();
  await press("Group by", "depth");
  await expect.poll(() => firstCells(page)).toContain("level 3");
  expect(await page.locator(".icicle .block", { hasText: /^level 3 ·/ }).count()).toBe(1);
  expect(page.url()).toContain("group=depth");
});

test("a group opens with its totals and its modules, most expensive first", async () => {
  await press("Group by", "class");
  await row(page, "Linear").first().click();
  const group = page.getByRole("complementary", { name: "Group" });
  await group.getByText("2 modules").waitFor();
  expect(page.url()).toContain("picked=Linear");
  const members = group.getByRole("region", { name: "Modules of the group" });
  expect(await members.getByRole("link").allTextContents()).toEqual(["block.b", "block.a"]);
  await members.getByRole("link", { name: "block.a" }).click();
  await panel().getByRole("heading", { name: "a", exact: true }).waitFor();
  await page.goBack();
  await group.press("Escape");
  await group.waitFor({ state: "detached" });
});

test("modules are found by the names of their kernels", async () => {
  await page.getByRole("searchbox").fill("GEMM");
  await expect.poll(() => firstCells(page)).toContain("a");
  await page.getByText("2 found", { exact: true }).waitFor();
});

test("the forward is drawn next to the backward in the picture", async () => {
  await page.getByLabel("show forward").check();
  await page.getByText("forward, to the same scale").waitFor();
  expect(await page.locator(".block-forward").count()).toBeGreaterThan(2);
});

test("a narrow table says which columns it has no room for", async () => {
  await go("#/modules?run=nested&module=block&with=forward");
  const heads = page.getByRole("columnheader");
  await page.setViewportSize({ width: 900, height: 720 });
  await page.getByText(/no room for: .*share/).waitFor();
  expect(await heads.allTextContents()).not.toContain("share");
  await page.setViewportSize({ width: 2000, height: 720 });
  await expect.poll(() => heads.allTextContents()).toContain("share");
});

test("what a figure means is read with the keyboard; Escape closes that alone", async () => {
  await go("#/modules?run=nested&module=block");
  await panel().waitFor();
  const tip = page.locator(".tip:not([hidden])");
  await page.locator(".figure .term").first().focus();
  await page.keyboard.press("Tab");
  await tip.waitFor();
  expect(await page.locator(":focus").getAttribute("aria-describedby")).toBe(
    await tip.getAttribute("id"),
  );
  await page.keyboard.press("Escape");
  await expect.poll(() => tip.count()).toBe(0);
  expect(await panel().isVisible()).toBe(true);
  await page.getByRole("columnheader", { name: "kernels" }).getByRole("button").hover();
  await tip.getByText(/^Kernels launched in the same work/).waitFor();
});

test("each row shows its calls over time", async () => {
  await expect.poll(() => row(page, "a").locator(".spark rect").count()).toBe(1);
  await go("#/modules?run=nested&per=total");
  await expect.poll(() => row(page, "a").locator(".spark rect").count()).toBe(2);
  expect(await row(page, "a").locator(".spark title").textContent()).toContain(
    "30.0 us to 40.0 us",
  );
});

test("a module whose time is compiled code is marked, and says how to get modules", async () => {
  await go("#/modules?run=compiled");
  await row(page, "a").locator(".lump").getByText("compiled").waitFor();
  expect(await page.locator(".lump").count()).toBe(1);
  await row(page, "a").click();
  const said = panel().getByRole("region", { name: "Evidence" });
  await said.getByText(/^Compiled: 1 call of compiled code, 20\.0 us of device time/).waitFor();
  await said.getByText("call hookview.wrap() before the first compiled step").waitFor();
});

test("the panel shows source, parameters, kernels, nodes and calls", async () => {
  await go("#/modules?run=nested&module=block&per=total");
  const said = panel();
  await said.getByText("net/block.py:12").waitFor();
  await said.getByText("18 · 72 B").waitFor();
  const kernels = said.getByRole("region", { name: "Kernels" });
  await expect.poll(() => kernels.locator("li").allTextContents()).toEqual(["gemm4×180.0 us"]);
  await said.getByRole("group", { name: "Modules" }).getByRole("button", { name: "self" }).click();
  await kernels.getByText("None.").waitFor();
  await said.getByRole("button", { name: "including children" }).click();
  await said
    .getByRole("group", { name: "Kernels of" })
    .getByRole("button", { name: "forward" })
    .click();
  await expect.poll(() => kernels.locator("li").allTextContents()).toEqual(["gemm4×120.0 us"]);
  const nodes = said.getByRole("region", { name: "Autograd nodes" });
  await nodes.getByRole("row", { name: "MmBackward0 4 180.0 us 240.0 us" }).waitFor();
  const calls = said.getByRole("region", { name: "Calls over time" });
  await calls.getByText("call 1 of 2").waitFor();
  await calls.getByLabel("Call").fill("1");
  await calls.getByText("call 2 of 2").waitFor();
  await calls.getByText("backward 100.0 us").waitFor();
});

test("a call is shown in the timeline", async () => {
  await go("#/modules?run=nested&module=block&per=total");
  const calls = panel().getByRole("region", { name: "Calls over time" });
  await calls.getByRole("link", { name: "show in timeline" }).last().click();
  await expect.poll(() => page.url()).toMatch(/#\/timeline\?.*range=240\.\.370/);
  await page.goBack();
  await panel().getByText("call 1 of 2").waitFor();
});

test("a sync of the module is shown with its chain", async () => {
  await go("#/modules?run=device&module=head");
  const syncs = panel().getByRole("region", { name: "Syncs" });
  await syncs.getByText("cudaStreamSynchronize").first().waitFor();
  await syncs.getByText("LinearBackward0", { exact: true }).waitFor();
  await syncs.getByRole("link", { name: "Show in Syncs" }).click();
  await expect.poll(() => page.url()).toContain("#/syncs");
});
