import { expect, test } from "vitest";

import type { KnownTrace, ListedRun } from "../api/schema";
import { runChoices } from "./RunPicker";

const run = (name: string, ...workers: string[]): ListedRun => ({
  name,
  workers: workers.map((worker) => ({ name: worker, traces: [] })),
});

const known = (of: string, worker: string, rest: Partial<KnownTrace> = {}): KnownTrace => ({
  run: of,
  worker,
  step_us: 12,
  devices: ["NVIDIA H100"],
  bound: "host",
  sentence: "Host-bound: ...",
  ...rest,
});

const RUNS = [run("vit", "a", "b"), run("resnet", "a")];
const KNOWN = [known("vit", "b"), known("resnet", "a", { devices: [], bound: "data" })];

test("what is known of a run is that of its first worker that was analyzed", () => {
  const found = runChoices(RUNS, [known("vit", "b"), known("vit", "c", { step_us: 1 })], "");
  expect(found.map(({ workers, known: of }) => [workers, of?.step_us ?? null])).toEqual([
    [2, 12],
    [1, null],
  ]);
});

test.each([
  ["", ["vit", "resnet"]],
  ["h100 host", ["vit"]],
  ["DATA", ["resnet"]],
  ["vit data", []],
])("every word of %j is looked for in name, device and verdict", (search, names) => {
  expect(runChoices(RUNS, KNOWN, search).map(({ name }) => name)).toEqual(names);
});
