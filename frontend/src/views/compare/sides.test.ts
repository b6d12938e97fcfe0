import { describe, expect, test } from "vitest";

import { START } from "../../address/place";
import { random } from "../../testing/random";
import { run } from "../../testing/report";
import { COMPARE, type ComparePlace } from "./address";
import {
  baseSide,
  chooseBase,
  otherSide,
  stepRange,
  suggestionGroups,
  suggestions,
  swapped,
} from "./sides";

describe("the sides", () => {
  const runs = {
    logdir: "",
    version: "",
    left_out: { links: 0, folders: 0 },
    dry_run: null,
    runs: [
      run("after", { w: ["3", "2"], v: ["3"] }, 30),
      run("before", { w: ["1"] }, 10),
      run("long ago", { w: ["1"] }, 5),
      run("later", { w: ["1"] }, 99),
      run("empty", { w: [] }),
    ],
  };
  const target = { run: "after", worker: "w", trace: "3", step: null };

  test("likely ones: an earlier trace, older runs, newer ones, other workers, first steps", () => {
    const names = suggestions(runs, target, ["s1", "s2", "s3"]).map(
      ({ kind, base, steps }) => `${kind} ${base.run} ${base.worker ?? ""} ${steps.join("+")}`,
    );
    expect(names).toEqual([
      "earlier trace after w ",
      "run before w ",
      "run long ago w ",
      "run later w ",
      "worker after v ",
      "first steps after w s2+s3",
    ]);
    expect(
      suggestions({ ...runs, runs: runs.runs.slice(1, 2) }, { ...target, run: "before" }, []),
    ).toEqual([]);
  });

  test("of many workers some are named at first, and all can be reached", () => {
    const named = (count: number): (readonly [string, number, number])[] => {
      const workers = Object.fromEntries(Array.from({ length: count }, (_, n) => [`w${n}`, ["1"]]));
      const many = { ...runs, runs: [run("after", workers, 30), run("before", { w: ["1"] }, 10)] };
      const here = { run: "after", worker: "w0", trace: "1", step: null };
      return suggestionGroups(suggestions(many, here, [])).map(
        ({ kind, first, all }) => [kind, first.length, all.length] as const,
      );
    };
    expect(named(20)).toEqual([
      ["run", 1, 1],
      ["worker", 5, 19],
    ]);
    expect(named(7)[1]).toEqual(["worker", 6, 6]);
  });

  test("swapping twice is where one began", () => {
    const base = { run: "before", worker: "w", trace: "1", steps: ["a", "b"] };
    const other = otherSide(target, ["c", "d"]);
    const there = { ...START, ...swapped(START, base, other) };
    expect(there).toMatchObject({ run: "before", worker: "w", trace: "1" });
    expect(there.compare).toMatchObject({ base: other, steps: ["a", "b"] });
    const back = swapped(there, other, { ...base });
    expect(back.compare).toMatchObject({ base, steps: ["c", "d"] });
    expect(back.run).toBe("after");
  });

  test("a base is filled up, and one that is gone is not used", () => {
    const base = { run: "before", worker: null, trace: null, steps: [] };
    expect(baseSide(chooseBase(runs, base), base)).toEqual({
      run: "before",
      worker: "w",
      trace: "1",
      steps: [],
    });
    const gone = { ...base, run: "gone" };
    expect(baseSide(chooseBase(runs, gone), gone)).toBeNull();
  });

  test("the step on show goes before a range", () => {
    expect(otherSide({ ...target, step: "s" }, ["a", "b"]).steps).toEqual(["s"]);
    expect(stepRange(["a", "b", "c"], 0, 2)).toEqual(["a", "b", "c"]);
    expect(stepRange(["a", "b", "c"], 2, 1)).toEqual(["b", "c"]);
  });
});

test("a comparison's place survives its address, and a poor one is ignored", () => {
  const next = random(5);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T;
  const texts = ["a b", "x&y=z", "run/1", "مرحبا", "#5", "%"];
  for (let round = 0; round < 200; round++) {
    const place: ComparePlace = {
      base: pick([
        null,
        {
          run: pick(texts),
          worker: pick([null, ...texts]),
          trace: pick([null, "1"]),
          steps: pick([[], texts]),
        },
      ]),
      steps: pick([[], texts]),
      table: pick([null, "syncs", "modules"] as const),
      status: pick([null, "all", "moved"] as const),
      row: pick([null, ...texts]),
    };
    const query = new URLSearchParams();
    COMPARE.write(place, query);
    expect(COMPARE.read(new URLSearchParams(query.toString()))).toEqual(place);
  }
  expect(COMPARE.read(new URLSearchParams("table=x&status=y&base_step=5"))).toEqual(COMPARE.start);
});
