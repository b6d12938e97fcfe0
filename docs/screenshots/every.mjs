// Every view of some traces in every size, light and dark, as contact sheets to look through:
//
//     node docs/screenshots/every.mjs FOLDER_OF_TRACES FOLDER_FOR_PICTURES [--run NAME] [--view NAME]
//
// A sheet holds one view of one trace: a row of sizes in light, one in dark. Made by the page that
// `make frontend` built; nothing of this is committed.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

import { launch, PYTHON, serve } from "../../benchmarks/browser.mjs";
import { loaded } from "./picture.mjs";

const {
  values: chosen,
  positionals: [folder, OUT],
} = parseArgs({
  allowPositionals: true,
  options: { run: { type: "string" }, view: { type: "string" } },
});
if (OUT === undefined) {
  console.error(
    "usage: node docs/screenshots/every.mjs FOLDER_OF_TRACES FOLDER_FOR_PICTURES [--run R] [--view V]",
  );
  process.exit(2);
}

const SIZES = [
  { width: 1024, height: 720 },
  { width: 1440, height: 900 },
  { width: 1920, height: 1080 },
];
const MODES = ["light", "dark"];

/** One each of: communication, syncs, memory rows, inference, no device. */
const RUNS = {
  ddp: "tracelens_mi300_resnet_checkpointing_ddp.json.gz",
  syncs: "hta_v100_training.json.gz",
  memory:
    "kineto_resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
  inference: "tracelens_h100_owlv2.json.gz",
  cpu: "hta_cpu_only.json.gz",
};

const firstRow = async (page) => {
  const row = page.locator(".table-body [role=row]").first();
  if (await row.isVisible()) await row.click();
};

/** Name, what follows the run in the address, and what is done before the picture. */
const VIEWS = [
  ["summary", ""],
  ["modules", "", firstRow],
  ["syncs", "", firstRow],
  ["operators", "", firstRow],
  ["kernels", "", firstRow],
  ["timeline", ""],
  ["memory", ""],
  ["findings", ""],
  ["whatif", "&scale=kernels%3D0.5"],
  ["query", ""],
  ["compare", "&base=ddp"],
];

async function take(browser, url, [view, more, act], run, mode, size) {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: mode,
  });
  const page = await context.newPage();
  await page.goto(`${url}#/${view}?run=${run}${more}`);
  await loaded(page);
  await act?.(page);
  await loaded(page);
  // Bars and blocks move to their places.
  await page.waitForTimeout(500);
  const file = join(OUT, `${run}-${view}-${mode}-${size.width}.png`);
  await page.screenshot({ path: file });
  await context.close();
  return file;
}

/** One picture of some: rows of as many as there are sizes. */
function sheet(files, to) {
  const program = [
    "import sys",
    "from PIL import Image",
    "to, across, *names = sys.argv[1:]",
    "pictures = [Image.open(name).convert('RGB') for name in names]",
    "rows = [pictures[at : at + int(across)] for at in range(0, len(pictures), int(across))]",
    "width = max(sum(one.width for one in row) for row in rows)",
    "whole = Image.new('RGB', (width, sum(max(one.height for one in row) for row in rows)))",
    "top = 0",
    "for row in rows:",
    "    left = 0",
    "    for one in row:",
    "        whole.paste(one, (left, top))",
    "        left += one.width",
    "    top += max(one.height for one in row)",
    "whole.save(to)",
  ].join("\n");
  execFileSync(PYTHON, ["-c", program, to, String(SIZES.length), ...files], {
    stdio: "inherit",
  });
}

const logs = mkdtempSync(join(tmpdir(), "hookview-every-"));
const runs = Object.keys(RUNS).filter(
  (run) => chosen.run === undefined || run === chosen.run,
);
for (const [run, file] of Object.entries(RUNS)) {
  const copy = join(logs, "runs", run, "worker0.1.pt.trace.json.gz");
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(join(folder, file), copy);
}
mkdirSync(OUT, { recursive: true });
const server = await serve("runs", logs);
const browser = await launch();
try {
  for (const view of VIEWS.filter(
    ([name]) => chosen.view === undefined || name === chosen.view,
  )) {
    for (const run of runs) {
      const files = [];
      for (const mode of MODES) {
        for (const size of SIZES)
          files.push(await take(browser, server.url, view, run, mode, size));
      }
      const to = join(OUT, `sheet-${view[0]}-${run}.png`);
      sheet(files, to);
      console.log(to);
    }
  }
} finally {
  await browser.close();
  await server.stop();
  rmSync(logs, { recursive: true, force: true });
}
