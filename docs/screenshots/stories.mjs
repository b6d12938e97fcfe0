// The pictures of the pages to learn from, light and dark, of what those pages record:
//
//     node docs/screenshots/stories.mjs FOLDER_OF_TRACES RUNS [NAME...]
//
// RUNS holds `first`, as docs/tutorials/start.md records it; 1,024 ranks are drawn by draw_ranks.py, the others
// are of sample_traces/cpu. The page is that of `make frontend`.

import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { launch, PYTHON, serve } from "../../benchmarks/browser.mjs";
import { shrink, take } from "./picture.mjs";

const GALLERY = join(import.meta.dirname, "../../sample_traces/cpu");
const RECORDED = [
  "patch_dropout.before",
  "slow_sibling.compares",
  "slow_sibling.even",
  "late_rank.late",
];
const SD35 = "tracelens_mi300_sd35_with_stacks.json.gz";
const [traces, recorded, ...names] = process.argv.slice(2);
if (recorded === undefined) {
  console.error(
    "usage: node docs/screenshots/stories.mjs FOLDER_OF_TRACES RUNS [NAME...]",
  );
  process.exit(2);
}

const nonzero = (page) =>
  page
    .locator(".table-body [role=row]", { hasText: "aten::nonzero" })
    .first()
    .click();
const PICTURES = [
  ["ranks-together", "#/ranks?run=late_rank.late"],
  ["ranks", "#/ranks?run=late_rank.late&rank=2&rankstep=ProfilerStep%234"],
  ["ranks-1024", "#/ranks?run=drawn"],
  ["start-memory", "#/memory?run=first"],
  ["story-backward", "#/modules?run=patch_dropout.before&module=patch_drop"],
  [
    "story-compare",
    "#/compare?run=slow_sibling.even&base=slow_sibling.compares&table=modules",
  ],
  ["story-shapes", "#/syncs?run=sd35", nonzero],
];

const folder = mkdtempSync(join(tmpdir(), "hookview-pictures-"));
for (const run of [
  join(recorded, "first"),
  ...RECORDED.map((name) => join(GALLERY, name)),
]) {
  cpSync(run, join(folder, "runs", basename(run)), { recursive: true });
}
execFileSync(PYTHON, [
  join(import.meta.dirname, "draw_ranks.py"),
  join(folder, "runs", "drawn"),
]);
mkdirSync(join(folder, "runs", "sd35"));
copyFileSync(
  join(traces, SD35),
  join(folder, "runs/sd35/worker0.1.pt.trace.json.gz"),
);
const server = await serve("runs", folder);
const browser = await launch();
try {
  const files = [];
  for (const picture of PICTURES) {
    if (names.length > 0 && !names.includes(picture[0])) continue;
    for (const mode of ["light", "dark"]) {
      files.push(
        await take(browser, server.url, picture, mode, import.meta.dirname),
      );
    }
  }
  shrink(files);
  console.log(files.join("\n"));
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
