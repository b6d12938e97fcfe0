// How long each view takes until it can be used, the server and the browser being warm, and the
// largest answer that it asks for:
//
//     node benchmarks/page_views.mjs TRACE [--runs N] [--write docs/performance.md]
//
// From the click in the navigation to the frame in which the view's own content is drawn and nothing
// of it is awaited: TRACE has modules, kernels and syncs. Processor time of the server is counted
// too, whatever else runs on the machine.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { launch, serve } from "./browser.mjs";
import { machine, publish, today } from "./table.mjs";

const GOAL_MS = 1000;
const GOAL_BYTES = 1_000_000;
const ROWS = ".table-body [role=row]";

/** What is there when a view can be used, or a sentence in its place. */
const VIEWS = {
  Summary: ".figures",
  Modules: ROWS,
  Syncs: ROWS,
  Operators: ROWS,
  Kernels: ROWS,
  Timeline: ".lane-labels li",
  Memory: ".memory-chart",
  Findings: ".finding-list li",
  "What-if": ".figures",
  Compare: ".figures",
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "5" }, write: { type: "string" } },
});
const [trace] = positionals;
if (trace === undefined) {
  console.error("usage: node benchmarks/page_views.mjs TRACE [--runs N] [--write FILE]");
  process.exit(2);
}

/** Runs in the page: goes to a view; how long until it is there, and its largest answer. */
function open([title, ready]) {
  performance.clearResourceTimings();
  const begun = performance.now();
  const links = [...document.querySelectorAll(".navigation a")];
  links.find((link) => link.firstChild.textContent === title).click();
  return new Promise((resolve) => {
    const look = () => {
      const main = document.querySelector("main");
      const waits = main.querySelector("[aria-busy=true]") !== null;
      if (waits || main.querySelector(`${ready}, .state h1`) === null) return requestAnimationFrame(look);
      const answers = performance.getEntriesByType("resource");
      resolve({
        ms: performance.now() - begun,
        requests: answers.length,
        largest: Math.max(0, ...answers.map((answer) => answer.decodedBodySize)),
      });
    };
    requestAnimationFrame(look);
  });
}

async function visit(page, server, view) {
  const before = server.cpuSeconds();
  const found = await page.evaluate(open, view);
  await page.waitForLoadState("networkidle");
  return { ...found, cpu: before === null ? null : 1000 * (server.cpuSeconds() - before) };
}

/** Each view once to warm it, then so many times; between them the summary. */
async function measure(page, server) {
  const found = {};
  for (const view of Object.entries(VIEWS)) {
    const elsewhere = view[0] === "Summary" ? "Findings" : "Summary";
    const visits = [];
    for (let run = 0; run <= Number(values.runs); run++) {
      visits.push(await visit(page, server, view));
      await visit(page, server, [elsewhere, VIEWS[elsewhere]]);
    }
    found[view[0]] = { first: visits[0], warm: visits.slice(1).toSorted((a, b) => a.ms - b.ms) };
  }
  return found;
}

function row(view, { first, warm }) {
  const median = warm[Math.floor(warm.length / 2)];
  const largest = Math.max(first.largest, ...warm.map((one) => one.largest));
  const times = [warm[0].ms, median.ms, warm.at(-1).ms, GOAL_MS, median.cpu, first.ms];
  const cells = [...times.map((ms) => ms?.toFixed(0) ?? ""), median.requests, largest, GOAL_BYTES];
  return `| ${[view, ...cells].join(" | ")} |`;
}

const logdir = mkdtempSync(join(tmpdir(), "hookview-views-"));
const browser = await launch();
try {
  mkdirSync(join(logdir, "run"));
  copyFileSync(trace, join(logdir, "run", "worker.1.pt.trace.json.gz"));
  const load = loadavg()[0].toFixed(1);
  const server = await serve(logdir);
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(server.url);
  await page.locator(".content-inner[aria-busy=false]").waitFor({ timeout: 120_000 });
  await page.waitForLoadState("networkidle");
  const found = await measure(page, server);
  const events = await page.evaluate(async () => {
    const { runs } = await (await fetch("api/runs")).json();
    const query = new URLSearchParams({ run: runs[0].name, worker: runs[0].workers[0].name });
    return (await (await fetch(`api/timeline?${query}`)).json()).events;
  });
  await server.stop();
  const table = [
    `${today()}. ${machine(browser)}; ` +
      `${events.toLocaleString("en")} events; load average before ${load}. ` +
      `\`node benchmarks/page_views.mjs ${basename(trace)} --runs ${values.runs}\``,
    "",
    "| view, ms warm | fastest | median | slowest | aim | of the median: processor time of the server | first visit | requests | largest answer, bytes | aim |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...Object.entries(found).map(([view, times]) => row(view, times)),
  ].join("\n");
  publish(table, "page views", values.write);
} finally {
  await browser.close();
  rmSync(logdir, { recursive: true, force: true });
}
