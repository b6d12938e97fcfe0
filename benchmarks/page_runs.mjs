// From opening TensorBoard at our tab to the first content there, on a log directory of many runs:
//
//     node benchmarks/page_runs.mjs FOLDER [--runs 17] [--times N] [--write benchmarks/results/performance.md]
//
// FOLDER holds the traces. TensorBoard has just said its address, no trace was read, the browser has
// not seen the page; once with our tab alone, once beside torch-tb-profiler, which reads every run.

import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { launch, tensorboardWith } from "./browser.mjs";
import { machine, publish, today } from "./table.mjs";

const GOAL_MS = 2000;
const WAYS = [
  ["our tab alone", "with"],
  ["next to torch-tb-profiler", "beside"],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "17" },
    times: { type: "string", default: "3" },
    write: { type: "string" },
  },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error(
    "usage: node benchmarks/page_runs.mjs FOLDER [--runs N] [--times N] [--write FILE]",
  );
  process.exit(2);
}

/** A log directory with a trace of the folder in each run. */
function fill(logdir, runs) {
  const traces = readdirSync(folder)
    .filter((name) => name.endsWith(".json.gz") && !name.includes("not_a"))
    .map((name) => join(folder, name))
    .toSorted((a, b) => statSync(a).size - statSync(b).size);
  for (let run = 0; run < runs; run++) {
    const into = join(logdir, `run${String(run).padStart(2, "0")}`);
    mkdirSync(into);
    copyFileSync(traces[run % traces.length], join(into, "worker0.1.pt.trace.json.gz"));
  }
}

/**
 * From the navigation to the first view drawn in our tab, milliseconds: until TensorBoard opens our
 * frame, and from there on; and what the server spent on it, whatever else runs on the machine.
 */
async function firstContent(browser, { url, cpuSeconds }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  const before = cpuSeconds();
  const begun = performance.now();
  const asked = page.waitForRequest(/name=hookview/).then(() => performance.now());
  await page.goto(`${url}#hookview`, { waitUntil: "commit" });
  const frame = page.frameLocator("iframe[src*='name=hookview']");
  await frame.locator(".content-inner[aria-busy=false]").waitFor({ timeout: 120_000 });
  const [whole, opened] = [performance.now() - begun, (await asked) - begun];
  const cpu = before === null ? null : 1000 * (cpuSeconds() - before);
  await context.close();
  return { whole, opened, ours: whole - opened, cpu };
}

async function measure(browser, which, logdir) {
  const found = [];
  for (let time = 0; time < Number(values.times); time++) {
    const server = await tensorboardWith(which, logdir);
    found.push(await firstContent(browser, server));
    await server.stop();
  }
  return found.toSorted((a, b) => a.whole - b.whole);
}

function row(where, sorted) {
  const median = sorted[Math.floor(sorted.length / 2)];
  const aim = where === WAYS[0][0] ? GOAL_MS : null;
  const { opened, ours, cpu } = median;
  const cells = [sorted[0].whole, median.whole, sorted.at(-1).whole, aim, opened, ours, cpu];
  return `| ${[where, ...cells.map((ms) => ms?.toFixed(0) ?? "")].join(" | ")} |`;
}

const logdir = mkdtempSync(join(tmpdir(), "hookview-runs-"));
const browser = await launch();
try {
  fill(logdir, Number(values.runs));
  const load = loadavg()[0].toFixed(1);
  const rows = [];
  for (const [where, which] of WAYS) rows.push(row(where, await measure(browser, which, logdir)));
  const table = [
    `${today()}. ${machine(browser)}; load average before ${load}. ` +
      `\`node benchmarks/page_runs.mjs ../shared/traces --runs ${values.runs} --times ${values.times}\``,
    "",
    "| first content, ms | fastest | median | slowest | aim | of the median: TensorBoard opens our frame | from there on | processor time of the server |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...rows,
  ].join("\n");
  publish(table, "page runs", values.write);
} finally {
  await browser.close();
  rmSync(logdir, { recursive: true, force: true });
}
