import { expect, test } from "vitest";

import type { DryRunReport, DrySync } from "../../api/schema";
import { counts, fitting, placesOf, sentence, sorted } from "./places";

function sync(id: number, step: number, rest: Partial<DrySync> = {}): DrySync {
  return {
    id,
    step,
    phase: "forward",
    operator: "aten::nonzero",
    within: "aten::index",
    node: null,
    module: "",
    module_class: "Net",
    line: "train.py:5",
    file: "/a/train.py",
    last_line: 5,
    column: 4,
    last_column: 9,
    code: "h[mask]",
    via: null,
    forward_line: null,
    forward_code: null,
    stack: [],
    cause: "sync-mask-index",
    title: "A mask",
    fix: "Use where.",
    reason: "elements are counted",
    nbytes: null,
    certain: true,
    count: 1,
    allowed: null,
    ...rest,
  };
}

function run(syncs: DrySync[]): DryRunReport {
  return {
    schema: 1,
    kind: "dry-run",
    program: "train.py",
    torch_version: "2.13.0",
    python_version: "3.12",
    devices: 1,
    steps: 3,
    measured: [1, 2],
    sync_count: 0,
    most_per_step: 0,
    syncs,
    notes: [],
    unknown: [],
    unused_allowances: [],
  };
}

const ALL = { search: "", phase: null, cause: null, step: null };

test("a place is counted per measured step; the first step only where it is asked for", () => {
  const dry = run([sync(0, 0), sync(1, 1, { count: 3 }), sync(2, 2), sync(3, 0, { column: 1 })]);
  const [place, ...rest] = placesOf(dry, null);
  expect(rest).toEqual([]);
  expect(place).toMatchObject({ id: "1", perStep: 2, steps: [1, 2] });
  expect(placesOf(dry, "0").map(({ perStep }) => perStep)).toEqual([1, 1]);
  expect(placesOf(dry, "7")).toEqual([]);
});

test("what a driver decides, or a list allows, is not counted", () => {
  const dry = run([
    sync(0, 1),
    sync(1, 1, { certain: false, reason: "staged" }),
    sync(2, 1, { allowed: "logged" }),
  ]);
  expect(placesOf(dry, null).map(counts)).toEqual([true, false, false]);
});

test("search and filters look at lines, nodes and causes; the missing come last", () => {
  const places = placesOf(
    run([sync(0, 1), sync(1, 1, { line: "b.py:1", node: "IndexBackward0", phase: "backward" })]),
    null,
  );
  const ids = (filter: object): string[] =>
    fitting(places, { ...ALL, ...filter }).map(({ id }) => id);
  expect(ids({ search: "INDEXBACK" })).toEqual(["1"]);
  expect(ids({ phase: "forward" })).toEqual(["0"]);
  expect(ids({ cause: "other" })).toEqual([]);
  const order = (descending: boolean): string[] =>
    sorted(places, { key: "node", descending }).map(({ id }) => id);
  expect(order(true)).toEqual(["1", "0"]);
  expect(order(false)).toEqual(["1", "0"]);
});

test("a backward sync names the forward line", () => {
  expect(sentence(sync(0, 1, { forward_line: "model.py:3" }))).toBe(
    "elements are counted (aten::index), in the backward of model.py:3",
  );
});
