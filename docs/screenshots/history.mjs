// The pictures of docs/how-to/watch.md, light and dark, of what sample_traces/slow_later.py records:
//
//     node docs/screenshots/history.mjs RUNS
//
// RUNS holds the folder `transformer` that it was given. The page is that of `make frontend`.

import { basename, dirname, resolve } from "node:path";

import { launch, serve } from "../../benchmarks/browser.mjs";
import { shrink, take } from "./picture.mjs";

const runs = process.argv[2];
if (runs === undefined) {
  console.error("usage: node docs/screenshots/history.mjs RUNS");
  process.exit(2);
}

/** Follows the link of the slowest steps into their recording. */
const open = async (page) => {
  await page
    .getByRole("region", { name: "Slow steps" })
    .getByRole("link")
    .first()
    .click();
  await page.locator(".icicle .block").first().waitFor();
};
const PICTURES = [
  ["history", "#/history?run=transformer"],
  ["history-module", "#/history?run=transformer", open],
];

const server = await serve(basename(runs), dirname(resolve(runs)));
const browser = await launch();
try {
  const files = [];
  for (const picture of PICTURES) {
    for (const mode of ["light", "dark"]) {
      files.push(
        await take(browser, server.url, picture, mode, import.meta.dirname),
      );
    }
  }
  shrink(files);
} finally {
  await browser.close();
  server.stop();
}
