/**
 * Frame times of the timeline while it is zoomed and panned, in headless Chromium.
 *
 *     node benchmarks/page_timeline.mjs TRACE
 *
 * TRACE is a trace file or a log directory. The page is served by `hookview serve`; the frame rate
 * is not limited, so a frame takes as long as it takes: input, drawing, and what the browser does
 * to show it. Every frame moves the view, as fast as frames come, while tiles are loaded.
 */
import { cpus } from "node:os";
import { resolve } from "node:path";

import { launch, serve } from "./browser.mjs";

const UNLIMITED = ["--disable-frame-rate-limit", "--disable-gpu-vsync"];
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

function quantile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function row(title, times) {
  const ms = (value) => value.toFixed(1);
  const figures = [0.5, 0.95, 0.99, 1].map((share) => ms(quantile(times, share)));
  return `| ${title} | ${times.length} | ${figures.join(" | ")} |`;
}

async function measure(url) {
  const browser = await launch(UNLIMITED);
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
    return { events, lanes, measured, version: browser.version() };
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
  const { events, lanes, measured, version } = await measure(url);
  const machine = `${cpus()[0].model}, ${cpus().length} cores`;
  console.log(
    `${events}, ${lanes} lanes; Chromium ${version}, ${VIEWPORT.width}x${VIEWPORT.height}; ${machine}\n`,
  );
  console.log("| movement | frames | median, ms | 95th percentile, ms | 99th, ms | longest, ms |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
  for (const [title, times] of measured) console.log(row(title, times));
  console.log(
    row(
      "**all**",
      measured.flatMap(([, times]) => times),
    ),
  );
} finally {
  await stop();
}
