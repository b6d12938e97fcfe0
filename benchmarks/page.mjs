// From the click on the tab to a view Modules that can be used, in headless Chromium:
//
//     node benchmarks/page.mjs TRACE [--runs N] [--write benchmarks/results/performance.md]
//
// Cold: a server that has not read the trace, a browser that has not seen the page. Warm: the same
// server and browser once more. "Usable": the rows of the table of modules are drawn. The page lands
// on its summary: the way from there to the view Modules, without the pause of a hand, is in the times.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir, totalmem } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { launch, serve, tensorboard } from "./browser.mjs";
import { machine, publish, today } from "./table.mjs";

const GOALS_MS = { cold: 2000, warm: 1000 };
const GOAL_SCRIPT = 300_000;
const TAB = "HOOKVIEW";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "5" }, write: { type: "string" } },
});
const [trace] = positionals;
if (trace === undefined) {
  console.error("usage: node benchmarks/page.mjs TRACE [--runs N] [--write FILE]");
  process.exit(2);
}

/** Runs in every document: notes when a view was drawn, and what was asked for. */
function watchView() {
  const look = () => {
    if (document.querySelector(".content-inner[aria-busy=false]") === null) return;
    watcher.disconnect();
    requestAnimationFrame(() => {
      const now = performance.timeOrigin + performance.now();
      const asked = performance.getEntriesByType("resource");
      const report = asked.find(({ name }) => name.includes("api/report"));
      const script = asked.find(({ name }) => name.includes("index.js"));
      window.hookviewUsable = {
        at: now,
        server: report.responseStart - report.requestStart,
        transfer: report.responseEnd - report.responseStart,
        rest: now - performance.timeOrigin - report.responseEnd,
        reportBytes: report.encodedBodySize,
        scriptBytes: script.encodedBodySize,
      };
    });
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document, { childList: true, subtree: true });
}

/** Runs in the page: goes to the view Modules; how long until its rows are drawn. */
function openModules() {
  const begun = performance.now();
  const links = [...document.querySelectorAll(".navigation a")];
  links.find(({ textContent }) => textContent.startsWith("Modules")).click();
  return new Promise((resolve) => {
    const look = () => {
      const row = document.querySelector(".table-body [role=row]");
      if (row === null) requestAnimationFrame(look);
      else resolve(performance.now() - begun);
    };
    requestAnimationFrame(look);
  });
}

/** What the first view took; `at` is when the rows of the view Modules would have been there. */
async function usableIn(frame) {
  await frame.waitForFunction(() => window.hookviewUsable !== undefined, null, { polling: 50 });
  const usable = await frame.evaluate(() => window.hookviewUsable);
  return { ...usable, at: usable.at + (await frame.evaluate(openModules)) };
}

/** By itself: from the navigation on. */
async function alone(context, { url }) {
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "commit" });
  const usable = await usableIn(page);
  const begun = await page.evaluate(() => performance.timeOrigin);
  await page.close();
  return { ...usable, ms: usable.at - begun };
}

/** As a tab of TensorBoard: from the click on. */
async function asTab(context, { url }) {
  const page = await context.newPage();
  await page.goto(`${url}#timeseries`);
  const tab = page.getByRole("tab", { name: TAB });
  await tab.waitFor();
  await page.evaluate(() => {
    const note = () => (window.hookviewClicked = performance.timeOrigin + performance.now());
    document.addEventListener("click", note, { capture: true });
  });
  await tab.click();
  const frame = await (await page.waitForSelector("iframe[src*=hookview]")).contentFrame();
  const usable = await usableIn(frame);
  const clicked = await page.evaluate(() => window.hookviewClicked);
  await page.close();
  return { ...usable, ms: usable.at - clicked };
}

async function measure(browser, start, show, runs) {
  const found = { cold: [], warm: [] };
  for (let run = 0; run < runs; run++) {
    const server = await start();
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
    await context.addInitScript(watchView);
    found.cold.push(await show(context, server));
    found.warm.push(await show(context, server));
    await context.close();
    await server.stop();
  }
  return found;
}

function row(where, state, times) {
  const sorted = times.toSorted((a, b) => a.ms - b.ms);
  const median = sorted[Math.floor(sorted.length / 2)];
  const whole = [sorted[0].ms, median.ms, sorted.at(-1).ms, GOALS_MS[state]];
  const parts = [median.server, median.transfer, median.rest];
  return `| ${[`${where}, ${state}`, ...[...whole, ...parts].map((ms) => ms.toFixed(0))].join(" | ")} |`;
}

function text(browser, results, runs, load) {
  const memory = Math.round(totalmem() / 2 ** 30);
  const { scriptBytes, reportBytes } = results[0][1].cold[0];
  const command = `node benchmarks/page.mjs ${basename(trace)} --runs ${runs}`;
  return [
    `${today()}. ${machine(browser)}; ${memory} GiB of memory. \`${command}\``,
    "",
    `Milliseconds, ${runs} runs of each; load average before them ${load}. Script of the page: ${scriptBytes} bytes ` +
      `compressed (aim: below ${GOAL_SCRIPT}). Report: ${reportBytes} bytes compressed.`,
    "",
    "| to a usable view | fastest | median | slowest | aim | of the median: server | transfer | drawing |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...results.flatMap(([where, found]) =>
      Object.entries(found).map(([state, times]) => row(where, state, times)),
    ),
  ].join("\n");
}

const logdir = mkdtempSync(join(tmpdir(), "hookview-page-"));
const browser = await launch();
try {
  const run = join(logdir, "run");
  mkdirSync(run);
  const suffix = trace.endsWith(".gz") ? ".pt.trace.json.gz" : ".pt.trace.json";
  copyFileSync(trace, join(run, `worker.1${suffix}`));
  const runs = Number(values.runs);
  const load = loadavg()[0].toFixed(1);
  const results = [
    ["`hookview serve`", await measure(browser, () => serve(logdir), alone, runs)],
    ["TensorBoard", await measure(browser, () => tensorboard(logdir), asTab, runs)],
  ];
  const table = text(browser, results, runs, load);
  publish(table, "page", values.write);
} finally {
  await browser.close();
  rmSync(logdir, { recursive: true, force: true });
}
