/**
 * Frame times of the heat map of the view Ranks while a pointer moves over it, in headless Chromium.
 *
 *     node benchmarks/page_ranks.mjs LOGDIR [SCREENSHOT]
 *
 * LOGDIR holds a run of many ranks. The frame rate is not limited, so a frame takes as long as it
 * takes: the event, what is said of the cell, drawing, and what the browser does to show it.
 */
import { resolve } from "node:path";

import { launch, serve, UNLIMITED_FRAMES } from "./browser.mjs";
import { frameRow, FRAMES_HEADER, machine } from "./table.mjs";

const VIEWPORT = { width: 1440, height: 900 };
const FRAMES = 240;
const READ_MS = 300_000;

/** Moves of the pointer from corner to corner of the map, one a frame; the frames' lengths in ms. */
function move(frames) {
  const map = document.querySelector(".rank-heat canvas");
  const box = map.getBoundingClientRect();
  const target = map.closest("[role=application]") ?? map;
  return new Promise((resolve) => {
    const times = [];
    let last = performance.now();
    const step = () => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      if (times.length > frames) {
        resolve(times.slice(1));
        return;
      }
      const part = 0.01 + (0.98 * times.length) / frames;
      const clientX = box.left + box.width * part;
      const clientY = box.top + box.height * part;
      target.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
      target.dispatchEvent(new MouseEvent("mousemove", { clientX, clientY, bubbles: true }));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

const [path, screenshot] = process.argv.slice(2);
if (path === undefined) {
  console.error("usage: node benchmarks/page_ranks.mjs LOGDIR [SCREENSHOT]");
  process.exit(2);
}
const { url, stop } = await serve(resolve(path));
const browser = await launch(UNLIMITED_FRAMES);
try {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(`${url}#/ranks`);
  await page.locator(".rank-heat canvas").waitFor({ timeout: READ_MS });
  await page.waitForTimeout(3000);
  const title = await page.getByRole("application").first().getAttribute("aria-label");
  const readout = () => page.locator(".rank-heat-readout").textContent();
  const before = await readout();
  const times = await page.evaluate(move, FRAMES);
  if ((await readout()) === before) throw new Error("the map did not follow the pointer");
  if (screenshot) await page.screenshot({ path: screenshot });
  console.log(`${title}; ${machine(browser)}\n\n${FRAMES_HEADER}`);
  console.log(frameRow("over the map", times));
} finally {
  await browser.close();
  await stop();
}
