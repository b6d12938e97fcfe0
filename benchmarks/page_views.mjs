// How long each view takes until it can be used, the server having read the trace and the page being
// loaded afresh, and the largest answer that it asks for:
//
//     node benchmarks/page_views.mjs TRACE|LOGDIR ... [--runs N] [--only TEXT] [--width PIXELS]
//                                    [--answers] [--shifts] [--write benchmarks/results/performance.md]
//
// From the change of the address, or the reader's move, to the frame in which the view's content is
// drawn and no answer is awaited. A trace is served with a copy of itself to compare with; of a log
// directory only the view Ranks is measured. The layout shift is the sum over that time, of what was
// drawn before and moved (https://web.dev/articles/cls, a reader's own move counted too). --answers
// lists every answer, --shifts what moved.

import { linkSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { launch, serve } from "./browser.mjs";
import { machine, publish, today } from "./table.mjs";
import { RANKS, VIEWS } from "./views/scenes.mjs";
import { settle, watchPage } from "./views/settle.mjs";

const FIRST_MS = 300_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "5" },
    only: { type: "string", default: "" },
    width: { type: "string", default: "1440" },
    answers: { type: "boolean", default: false },
    shifts: { type: "boolean", default: false },
    write: { type: "string" },
  },
});
if (positionals.length === 0) {
  console.error(
    "usage: node benchmarks/page_views.mjs TRACE|LOGDIR ... [--runs N] [--only TEXT] [--width PIXELS] [--answers] [--shifts] [--write FILE]",
  );
  process.exit(2);
}
const VIEWPORT = { width: Number(values.width), height: 900 };

/** One scene, once: milliseconds, its answers, whether the trace has nothing to show there. */
async function visit(page, { from, to, move, ready }) {
  await page.goto("about:blank");
  await page.goto(page.served + from);
  const settled = [await page.evaluate(settle, { ready: ".content-inner[aria-busy=false]" })];
  if (move !== undefined) settled.push(await page.evaluate(settle, { ready: move.on, hash: to }));
  settled.push(await page.evaluate(settle, { ready, hash: to, move }));
  const answers = settled
    .flatMap((one) => one.answers)
    .filter(({ path }) => path.includes("/api/"));
  return { ...settled.at(-1), answers };
}

/** Each scene once to warm the server, then as often as asked for. */
async function measure(page, server, scene) {
  const visits = [];
  for (let run = 0; run <= Number(values.runs); run++) {
    const before = server.cpuSeconds();
    const visited = await visit(page, scene);
    visits.push({ ...visited, cpu: 1000 * (server.cpuSeconds() - before) });
  }
  if (values.answers) {
    for (const answer of visits[0].answers)
      console.error(`${scene.title}: ${JSON.stringify(answer)}`);
  }
  const shifts = visits.map(shiftOf);
  if (values.shifts) {
    for (const { value, moved } of visits[shifts.indexOf(Math.max(...shifts))].shifts)
      console.error(`${scene.title}: ${value.toFixed(3)} ${moved.join("; ")}`);
  }
  const failed = visits.flatMap(({ answers }) => answers.filter(({ status }) => status >= 400));
  for (const { path, status } of failed.slice(0, 1))
    console.error(`${scene.title}: ${status} ${path}`);
  const warm = visits.slice(1).toSorted((a, b) => a.ms - b.ms);
  const answers = visits.flatMap((one) => one.answers);
  return {
    missing: warm.some(({ missing }) => missing),
    median: warm[Math.floor(warm.length / 2)].ms,
    slowest: warm.at(-1).ms,
    cpu: Math.min(...warm.map((one) => one.cpu)),
    shift: Math.max(...shifts),
    largest: Math.max(0, ...answers.map(({ decoded }) => decoded)),
    sent: Math.max(0, ...answers.map(({ encoded }) => encoded)),
  };
}

/** What moved by itself, summed. */
function shiftOf({ shifts }) {
  return shifts.reduce((sum, { value }) => sum + value, 0);
}

/** The log directory of an argument: itself, or one that holds the trace twice. */
function logdirOf(path, made) {
  if (statSync(path).isDirectory()) return path;
  for (const run of ["run", "before"]) mkdirSync(join(made, run));
  const trace = join(made, "run", "worker.1.pt.trace.json.gz");
  copyFileSync(path, trace);
  linkSync(trace, join(made, "before", "worker.1.pt.trace.json.gz"));
  return made;
}

/** Figures of the scenes of one trace or log directory, by their titles. */
async function measureAll(browser, path) {
  const made = mkdtempSync(join(tmpdir(), "hookview-views-"));
  const server = await serve(logdirOf(resolve(path), made));
  try {
    const page = await browser.newPage({ viewport: VIEWPORT });
    page.setDefaultTimeout(FIRST_MS);
    await page.addInitScript(watchPage);
    page.served = server.url;
    await page.goto(server.url);
    await page.locator(".content-inner[aria-busy=false]").waitFor({ timeout: FIRST_MS });
    const { events, end } = await page.evaluate(timelineOf);
    const scenes = (await scenesOf(page, path, end)).filter(({ title }) =>
      title.includes(values.only),
    );
    const found = new Map();
    for (const scene of scenes) {
      const figures = await measure(page, server, scene).catch((error) => {
        console.error(`${scene.title}: ${error.message}`);
        return { failed: true };
      });
      found.set(scene.title, figures);
      console.error(`${scene.title}: ${cells(figures).join(", ")}`);
    }
    await page.close();
    return { path, events, found };
  } finally {
    await server.stop();
    rmSync(made, { recursive: true, force: true });
  }
}

async function scenesOf(page, path, end) {
  if (!statSync(path).isDirectory()) return VIEWS(end);
  const { ranks, steps } = await page.evaluate(async () =>
    (await fetch("api/ranks?run=run")).json(),
  );
  const middle = (list) => list[Math.floor(list.length / 2)];
  return RANKS({ rank: middle(ranks), step: middle(steps), collective: 1 });
}

/** Runs in the page: how many events the newest trace has, and how long it is in microseconds. */
async function timelineOf() {
  const { runs } = await (await fetch("api/runs")).json();
  const run = runs.find(({ name }) => name === "run") ?? runs[0];
  const query = new URLSearchParams({
    run: run.name,
    worker: run.workers[0].name,
  });
  const { events, duration_us } = await (await fetch(`api/timeline?${query}`)).json();
  return { events, end: duration_us };
}

function cells(figures) {
  if (figures === undefined) return ["", "", ""];
  if (figures.failed) return ["**does not come**", "", ""];
  if (figures.missing) return ["not in the trace", "", ""];
  const kilobytes = (bytes) => (bytes / 1000).toFixed(0);
  return [
    `${figures.median.toFixed(0)} (${figures.slowest.toFixed(0)}), ${figures.cpu.toFixed(0)}`,
    `${kilobytes(figures.largest)} (${kilobytes(figures.sent)})`,
    figures.shift.toFixed(3),
  ];
}

function table(measured, browser, load) {
  const titles = [...new Set(measured.flatMap(({ found }) => [...found.keys()]))];
  const named = measured.map(({ path, events }) =>
    statSync(path).isDirectory()
      ? `\`${basename(path)}\``
      : `\`${basename(path)}\`, ${events.toLocaleString("en")} events`,
  );
  const names = positionals.map((path) => basename(path)).join(" ");
  return [
    `${today()}. ${machine(browser)}; load average ${load} before and ${loadavg()[0].toFixed(1)} after. ` +
      `\`node benchmarks/page_views.mjs ${names} --runs ${values.runs} --width ${values.width}\``,
    "",
    `| view | ${named.map((name) => `${name}: ms, median (slowest), server's CPU | largest answer, kB (sent) | layout shift`).join(" | ")} |`,
    `| --- |${" ---: | ---: | ---: |".repeat(measured.length)}`,
    ...titles.map((title) => {
      const row = measured.flatMap(({ found }) => cells(found.get(title)));
      return `| ${[title, ...row].join(" | ")} |`;
    }),
  ].join("\n");
}

const browser = await launch();
try {
  const load = loadavg()[0].toFixed(1);
  const measured = [];
  for (const path of positionals) measured.push(await measureAll(browser, path));
  publish(table(measured, browser, load), "page views", values.write);
} finally {
  await browser.close();
}
