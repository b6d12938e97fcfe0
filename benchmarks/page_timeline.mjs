/**
 * Frame times of the timeline while it is zoomed and panned, in headless Chromium.
 *
 *     node benchmarks/page_timeline.mjs TRACE
 *
 * TRACE is a trace file or a log directory. The page is served by `hookview serve`; the frame rate
 * is not limited, so a frame takes as long as it takes: input, drawing, and what the browser does
 * to show it. Every frame moves the view, as fast as frames come, while tiles are loaded.
 */
import { resolve } from "node:path";

import { launch, serve, UNLIMITED_FRAMES } from "./browser.mjs";
import { frameRow, FRAMES_HEADER, machine } from "./table.mjs";

const VIEWPORT = { width: 1440, height: 900 };
const FRAMES = 240;

/** Wheel turns on the canvas, one a frame, with these keys held; the frames' lengths in ms. */
function turn({ frames, deltaY, deltaX, ctrlKey, at }) {
  const canvas = document.querySelector(".chart-canvas");
  const box = canvas.getBoundingClientRect();
  const clientX = box.left + box.width * at;
  const clientY = box.top + box.height / 2;
  const options = { deltaY, deltaX, ctrlKey, clientX, clientY, bubbles: true, cancelable: true };
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
      canvas.dispatchEvent(new WheelEvent("wheel", options));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

const ZOOM = 16;
const SCENES = [
  ["zoom in, whole trace to a 1/4,700th", { deltaY: -ZOOM, deltaX: 0, ctrlKey: true, at: 0.37 }],
  ["pan there", { deltaY: 0, deltaX: 20, ctrlKey: false, at: 0.5 }],
  ["zoom out", { deltaY: ZOOM, deltaX: 0, ctrlKey: true, at: 0.62 }],
  ["zoom in, halfway", { deltaY: -ZOOM / 2, deltaX: 0, ctrlKey: true, at: 0.45 }],
  ["pan halfway", { deltaY: 0, deltaX: 20, ctrlKey: false, at: 0.5 }],
  ["pan back", { deltaY: 0, deltaX: -20, ctrlKey: false, at: 0.5 }],
];

async function measure(url) {
  const browser = await launch(UNLIMITED_FRAMES);
  try {
    const page = await browser.newPage({ viewport: VIEWPORT });
    await page.goto(`${url}#/timeline`);
    await page.locator(".chart-canvas").waitFor({ timeout: 120_000 });
    await page.waitForTimeout(3000);
    const events = await page.locator(".chart-corner .muted").first().innerText();
    const lanes = await page.locator(".lane-labels li").count();
    const measured = [];
    for (const [title, options] of SCENES) {
      measured.push([title, await page.evaluate(turn, { frames: FRAMES, ...options })]);
    }
    return { events, lanes, measured, on: machine(browser) };
  } finally {
    await browser.close();
  }
}

const [path] = process.argv.slice(2);
if (path === undefined) {
  console.error("usage: node benchmarks/page_timeline.mjs TRACE");
  process.exit(2);
}
const { url, stop } = await serve(resolve(path));
try {
  const { events, lanes, measured, on } = await measure(url);
  console.log(`${events}, ${lanes} lanes; ${on}, ${VIEWPORT.width}x${VIEWPORT.height}\n`);
  console.log(FRAMES_HEADER);
  for (const [title, times] of measured) console.log(frameRow(title, times));
  const all = measured.flatMap(([, times]) => times);
  console.log(frameRow("**all**", all));
} finally {
  await stop();
}
