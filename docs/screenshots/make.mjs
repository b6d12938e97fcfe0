// The pictures of this folder, each view in light and in dark, from traces given as an argument:
//
//     node docs/screenshots/make.mjs ../shared/traces [--to FOLDER] [NAME...]
//
// Pictures are made by the page that `make frontend` built. Names choose some of them.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

import { launch, PYTHON, serve } from "../../benchmarks/browser.mjs";

const {
  values: { to: OUT },
  positionals: [folder, ...names],
} = parseArgs({
  allowPositionals: true,
  options: { to: { type: "string", default: import.meta.dirname } },
});
if (folder === undefined) {
  console.error("usage: node docs/screenshots/make.mjs FOLDER_OF_TRACES [--to FOLDER] [NAME...]");
  process.exit(2);
}
mkdirSync(OUT, { recursive: true });

const SIZE = { width: 1440, height: 900 };

/** Runs on show, with where their traces are in the folder. */
const RUNS = {
  resnet_ddp: "tracelens_mi300_resnet_checkpointing_ddp.json.gz",
  bert_h100: "tracelens_h100_bert_small.json.gz",
  bert_mi300: "tracelens_mi300_bert_small.json.gz",
  v100: "hta_v100_training.json.gz",
  owlv2: "tracelens_h100_owlv2.json.gz",
  b200: "tracelens_b200_eager.json.gz",
  "resnet50 (no workers)": "kineto_resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
  "resnet50 (4 workers)": "kineto_resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
};

const firstRow = (page) => page.locator(".table-body [role=row]").first().click();

/** Name of the picture, address, and what is done before it is taken. */
const PICTURES = [
  ["summary", "#/summary?run=v100"],
  ["backward", "#/backward?run=resnet_ddp&module=Conv2d_0"],
  ["syncs", "#/syncs?run=v100", firstRow],
  ["timeline", "#/timeline?run=resnet_ddp&from=15000&to=34000"],
  ["findings", "#/findings?run=v100"],
  ["whatif", "#/whatif?run=v100&without=sync-d2h-copy&scale=communication%3D0.5"],
  ["whatif-host", "#/whatif?run=b200&without=tiny-kernels-launch-bound"],
  ["whatif-mixed", "#/whatif?run=owlv2&scale=data%3D0&scale=kind%3Aattention%3D0.5"],
  ["compare", "#/compare?run=resnet50+(4+workers)&base=resnet50+(no+workers)"],
];

async function take(browser, url, [name, hash, act], mode) {
  const context = await browser.newContext({ viewport: SIZE, colorScheme: mode });
  const page = await context.newPage();
  await page.goto(url + hash);
  await page.locator(".content-inner[aria-busy=false]").waitFor();
  await page.waitForLoadState("networkidle");
  await act?.(page);
  await page.waitForLoadState("networkidle");
  // Bars and blocks move to their places.
  await page.waitForTimeout(1000);
  const file = join(OUT, mode === "dark" ? `${name}-dark.png` : `${name}.png`);
  await page.screenshot({ path: file });
  await context.close();
  return file;
}

/** 256 colours are enough for these pictures, and make them a third as large. */
function shrink(files) {
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

// A log directory with speaking names; it goes when the pictures are taken.
const folderOfRuns = mkdtempSync(join(tmpdir(), "hookview-pictures-"));
for (const [run, file] of Object.entries(RUNS)) {
  const copy = join(folderOfRuns, "runs", run, "worker0.1.pt.trace.json.gz");
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(join(folder, file), copy);
}
const server = await serve("runs", folderOfRuns);
const browser = await launch();
try {
  const files = [];
  for (const picture of PICTURES) {
    if (names.length > 0 && !names.includes(picture[0])) continue;
    for (const mode of ["light", "dark"]) {
      files.push(await take(browser, server.url, picture, mode));
    }
  }
  shrink(files);
  console.log(files.join("\n"));
} finally {
  await browser.close();
  await server.stop();
  rmSync(folderOfRuns, { recursive: true, force: true });
}
