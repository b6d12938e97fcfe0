import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "vitest";

import { seriousFaultsInModes } from "./axe";
import { page, serving, test, visiting } from "./scene";
import { serve } from "./server";

const RUN = readFileSync(join(import.meta.dirname, "data/dry_run.json"), "utf8");

serving(
  (logdir) => {
    logdir.addFile("dry.json", RUN);
  },
  (path) => serve(join(path, "dry.json")),
);
visiting("", () => page.locator(".table-body [role=row]").first().waitFor());

test("a dry run says that it is one, and shows places in the place of times", async () => {
  const text = await page.locator("body").innerText();
  expect(text).toContain("Dry run, not a recording");
  expect(text).toContain("Nothing was timed");
  expect(text).not.toMatch(/\d (us|ms|s)\b/);
  expect(await page.getByRole("grid", { name: "Syncs of a dry run" }).innerText()).toContain(
    "train.py:12",
  );
  expect(await page.locator(".figure dd").first().textContent()).toBe("3");
});

test("a place opens with its forward line and its fix", async () => {
  await page.getByRole("searchbox", { name: "Search syncs" }).fill("IndexBackward0");
  await page.locator(".table-body [role=row]").first().click();
  const panel = page.getByRole("complementary", { name: "Sync", exact: true });
  const text = await panel.innerText();
  expect(text).toContain("in the backward of train.py:12");
  expect(text).toContain("masked_fill");
  expect(page.url()).toContain("sync=");
});

test("no serious fault of accessibility", async () => {
  expect(await seriousFaultsInModes(page)).toEqual([]);
});
