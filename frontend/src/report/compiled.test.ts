import { expect, test } from "vitest";

import type { ReportData } from "../api/schema";
import { compiledRemedy, compiledRows, compiledText } from "./compiled";

const REGION = {
  id: 7,
  region: "Torch-Compiled Region: 0/0",
  graph: null,
  compile_id: "0/0",
  backward: true,
  operators: "add_relu",
  generated: true,
  calls: 2,
  host_us: 3,
  device_us: null,
};
const TIME = {
  host_us: 9,
  placed_host_us: 9,
  leaf_host_us: 9,
  split_host_us: 0,
  near_host_us: 0,
  device_us: null,
  placed_device_us: null,
};

function report(
  regions: ReportData["compiled_regions"],
  placed: [number, Record<string, number>] | null = null,
): ReportData {
  const compiled =
    placed === null
      ? null
      : { calls: 4, placed: placed[0], whole_by_reason: placed[1], forward: TIME, backward: TIME };
  return { compiled, compiled_regions: regions } as ReportData;
}

test("a trace without compiled code says nothing of it", () => {
  expect(compiledText(report([]))).toBeNull();
  expect(compiledRemedy(report([]))).toBeNull();
});

test("a lump without the recorder's map has a remedy", () => {
  expect(compiledText(report([REGION]))).toContain("not broken down by module");
  expect(compiledRemedy(report([REGION]))).toContain("docs/how-to/compiled.md");
});

test("what is not placed is counted with its reason", () => {
  const some = report([REGION], [3, { "no map of the graph": 1 }]);
  expect(compiledText(some)).toContain("3 of 4");
  expect(compiledText(some)).toContain("1 no map of the graph");
  expect(compiledRemedy(some)).toContain("TORCHINDUCTOR_CACHE_DIR");
  expect(compiledRemedy(report([REGION], [3, { "rows and map differ": 1 }]))).not.toContain(
    "CACHE",
  );
});

test("nothing is left to do where all is placed", () => {
  const all = report([REGION], [4, {}]);
  expect(compiledText(all)).toContain("all 4");
  expect(compiledRemedy(all)).toBeNull();
});

test("rows say region and direction; time in no operator is named", () => {
  const rows = compiledRows(report([REGION, { ...REGION, operators: "", region: null }]));
  expect(rows.map((row) => [row.operators, row.region, row.direction, row.device])).toEqual([
    ["add_relu", "0/0", "backward", null],
    ["between operators", "", "backward", null],
  ]);
});
