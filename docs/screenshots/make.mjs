// The pictures of this folder, each view in light and in dark, from traces given as an argument:
//
//     node docs/screenshots/make.mjs ../shared/traces [--to FOLDER] [--compiled FOLDER] [NAME...]
//
// Those of compiled models are made of what record_compiled.py left in the folder of --compiled.
// Pictures are made by the page that `make frontend` built. Names choose some of them.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { launch, serve } from "../../benchmarks/browser.mjs";
import { firstRow, shrink, take } from "./picture.mjs";

const {
  values: { to: OUT, compiled },
  positionals: [folder, ...names],
} = parseArgs({
  allowPositionals: true,
  options: {
    to: { type: "string", default: import.meta.dirname },
    compiled: { type: "string" },
  },
});
if (folder === undefined) {
  console.error(
    "usage: node docs/screenshots/make.mjs FOLDER_OF_TRACES [--to FOLDER] [NAME...]",
  );
  process.exit(2);
}
mkdirSync(OUT, { recursive: true });

/** Runs on show, with where their traces are in the folder. */
const RUNS = {
  resnet_ddp: "tracelens_mi300_resnet_checkpointing_ddp.json.gz",
  bert_h100: "tracelens_h100_bert_small.json.gz",
  bert_mi300: "tracelens_mi300_bert_small.json.gz",
  v100: "hta_v100_training.json.gz",
  owlv2: "tracelens_h100_owlv2.json.gz",
  b200: "tracelens_b200_eager.json.gz",
  triton: "tracelens_mi300_compile_triton.json.gz",
  "vit on an H200": join(
    import.meta.dirname,
    "../../sample_traces/gpu/patch_dropout.before/main.pt.trace.json.gz",
  ),
  "resnet50 (no workers)":
    "kineto_resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
  "resnet50 (4 workers)":
    "kineto_resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
};

/** Runs of record_compiled.py. */
const RECORDED = ["vit", "vit_compiled", "gpt2", "gpt2_compiled"];

/** The lanes are below the fold. */
const toLanes = (page) =>
  page.locator(".whatif-lanes").evaluate((section) => {
    section.scrollIntoView({ block: "end" });
  });

const QUERY =
  "select name, count(*) as calls, sum(duration_us) / 1000 as ms\n" +
  "from device_events group by name order by ms desc limit 20";

/** Name of the picture, address, and what is done before it is taken. */
const PICTURES = [
  ["summary", "#/summary?run=v100"],
  ["backward", "#/modules?run=vit on an H200&module=patch_drop"],
  ["syncs", "#/syncs?run=v100", firstRow],
  ["timeline", "#/timeline?run=resnet_ddp&from=15000&to=34000"],
  ["findings", "#/findings?run=v100"],
  [
    "whatif",
    "#/whatif?run=v100&without=sync-d2h-copy&scale=communication%3D0.5",
  ],
  ["whatif-host", "#/whatif?run=b200&without=tiny-kernels-launch-bound"],
  [
    "whatif-mixed",
    "#/whatif?run=owlv2&scale=data%3D0&scale=kind%3Aattention%3D0.5",
  ],
  [
    "whatif-lanes",
    "#/whatif?run=owlv2&scale=data%3D0&scale=kind%3Aattention%3D0.5",
    toLanes,
  ],
  ["whatif-lanes-host", "#/whatif?run=b200&scale=host%3D0.5", toLanes],
  ["whatif-lanes-device", "#/whatif?run=triton&scale=kernels%3D0.5", toLanes],
  ["timeline-path", "#/timeline?run=owlv2"],
  ["timeline-path-host", "#/timeline?run=b200&from=20000&to=24000"],
  ["timeline-path-device", "#/timeline?run=triton"],
  ["query", `#/query?run=v100&sql=${encodeURIComponent(QUERY)}`],
  ["compare", "#/compare?run=resnet50+(4+workers)&base=resnet50+(no+workers)"],
];
const PICTURES_OF_RECORDED = RECORDED.map((run) => [
  `backward-${run.replace("_", "-")}`,
  `#/backward?run=${run}`,
]);

// A log directory with speaking names; it goes when the pictures are taken.
const folderOfRuns = mkdtempSync(join(tmpdir(), "hookview-pictures-"));
function addRun(run, file) {
  const copy = join(folderOfRuns, "runs", run, "worker0.1.pt.trace.json.gz");
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(file, copy);
}
for (const [run, file] of Object.entries(RUNS))
  addRun(run, resolve(folder, file));
const pictures = [...PICTURES];
if (compiled !== undefined) {
  for (const run of RECORDED) addRun(run, join(compiled, `${run}.json.gz`));
  pictures.push(...PICTURES_OF_RECORDED);
}
const server = await serve("runs", folderOfRuns);
const browser = await launch();
try {
  const files = [];
  for (const picture of pictures) {
    if (names.length > 0 && !names.includes(picture[0])) continue;
    for (const mode of ["light", "dark"]) {
      files.push(await take(browser, server.url, picture, mode, OUT));
    }
  }
  shrink(files);
  console.log(files.join("\n"));
} finally {
  await browser.close();
  await server.stop();
  rmSync(folderOfRuns, { recursive: true, force: true });
}
