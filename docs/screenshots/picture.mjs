// One picture of the page, for the programs of this folder that take some.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { PYTHON } from "../../benchmarks/browser.mjs";

const SIZE = { width: 1440, height: 900 };

/** Selects the first row of a table. */
export const firstRow = (page) =>
  page.locator(".table-body [role=row]").first().click();

/** Waits until a view has what it asked for. While a trace is read, it asks only from time to time. */
export async function loaded(page) {
  await page.locator(".content-inner[aria-busy=false]").waitFor();
  await page.waitForFunction(
    () =>
      document.querySelector(".content :is([aria-busy=true], progress)") ===
      null,
  );
  await page.waitForLoadState("networkidle");
}

/** Takes a picture: its name, the address, and what is done before it is taken; returns the file. */
export async function take(browser, url, [name, hash, act], mode, folder) {
  const context = await browser.newContext({
    viewport: SIZE,
    colorScheme: mode,
  });
  const page = await context.newPage();
  await page.goto(url + hash);
  await loaded(page);
  await act?.(page);
  await loaded(page);
  // Bars and blocks move to their places.
  await page.waitForTimeout(1000);
  const file = join(
    folder,
    mode === "dark" ? `${name}-dark.png` : `${name}.png`,
  );
  await page.screenshot({ path: file });
  await context.close();
  return file;
}

/** 256 colours are enough for these pictures, and make them a third as large. */
export function shrink(files) {
  const program = [
    "import sys",
    "from PIL import Image",
    "for name in sys.argv[1:]:",
    "    picture = Image.open(name).convert('RGB')",
    "    small = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=0)",
    "    small.save(name, optimize=True)",
  ].join("\n");
  execFileSync(PYTHON, ["-c", program, ...files], { stdio: "inherit" });
}
