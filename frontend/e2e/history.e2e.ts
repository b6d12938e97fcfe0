import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { parameter } from "./canvas";
import { page, test, visit, visiting } from "./scene";

visiting("#/history?run=watched", () => page.locator(".history-median").waitFor());

test("slow steps name the block, and lead to it in the recording of them", async () => {
  const slow = page.getByRole("region", { name: "Slow steps" });
  await expect.poll(() => slow.textContent()).toContain("since 120");
  await expect.poll(() => slow.textContent()).toContain("backward of body");
  expect(await seriousFaults(page)).toEqual([]);
  await slow.getByRole("link", { name: "steps 122–124" }).click();
  await expect.poll(() => page.url()).toContain("#/modules");
  expect(parameter(page.url(), "module")).toBe("body");
  expect(parameter(page.url(), "worker")).toBe("gpu0");
  await page.locator(".icicle .block").first().waitFor();
});

test("a recording is a point that opens", async () => {
  await page.getByRole("link", { name: "Recording of steps 122–124 (slow)" }).click();
  await expect.poll(() => page.url()).toContain("#/modules");
});

test("the parts of a step can be shown by block", async () => {
  const parts = page.getByRole("region", { name: "Parts of the step" });
  await parts.getByRole("button", { name: "Backward by block" }).click();
  await expect.poll(() => parts.textContent()).toContain("300.0 us → 1.20 ms");
});

test("a run that was not watched says how to", async () => {
  await visit("#/history?run=alone");
  await page.getByRole("heading", { name: "This run was not watched" }).waitFor();
});
