// What programs that measure the page print: the machine, times, and a table for a document.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

/** The processor and the browser of this machine. */
export function machine(browser) {
  return `${cpus()[0].model}, ${cpus().length} cores, Chromium ${browser.version()}, headless`;
}

/** Today, as documents have it. */
export function today() {
  return new Date().toISOString().slice(0, 10);
}

/** Print a table; where a file is given, also write it between the marks `name:begin` and `name:end` there. */
export function publish(table, name, file) {
  console.log(table);
  if (file === undefined) return;
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const before = readFileSync(file, "utf8");
  const [head, tail] = [before.split(begin)[0], before.split(end)[1]];
  writeFileSync(file, `${head}${begin}\n\n${table}\n\n${end}${tail}`);
}

/** Header of a table of `frameRow`s. */
export const FRAMES_HEADER = [
  "| movement | frames | median, ms | 95th percentile, ms | 99th, ms | longest, ms |",
  "| --- | ---: | ---: | ---: | ---: | ---: |",
].join("\n");

/** How long frames took, milliseconds: a row of a table. */
export function frameRow(title, times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const figures = [0.5, 0.95, 0.99, 1].map((share) => at(share).toFixed(1));
  return `| ${title} | ${times.length} | ${figures.join(" | ")} |`;
}
