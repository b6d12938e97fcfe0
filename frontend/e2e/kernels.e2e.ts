import { expect } from "vitest";

import { seriousFaults } from "./axe";
import { page, test, visiting } from "./scene";

visiting("#/kernels?run=device", () => rows().first().waitFor());

const rows = (): ReturnType<typeof page.locator> => page.locator(".table-body [role=row]");

test("without shapes MFU is unknown and the roofline says why", async () => {
  await expect.poll(() => page.locator(".figure dd").first().textContent()).toBe("unknown");
  await page.getByText(/No FLOPs are known/).waitFor();
});

test("launches are a table of their own, in the address", async () => {
  await page.getByRole("button", { name: "Launch" }).click();
  await expect.poll(() => page.url()).toContain("kernels=launch");
  await page.getByRole("columnheader", { name: /^operator/ }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

test("a row leads to its longest events in the timeline, and Escape closes it", async () => {
  await rows().first().click();
  const panel = page.getByRole("complementary", { name: "Kernel" });
  await panel.locator(".calls a").first().waitFor();
  await panel.getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Escape");
  await expect.poll(() => panel.count()).toBe(0);
  await rows().first().click();
  await panel.locator(".calls a").first().click();
  await expect.poll(() => page.url()).toContain("#/timeline");
});
