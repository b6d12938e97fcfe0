import { expect, test } from "vitest";

import type { ListedRun, Runs } from "../api/schema";
import { run } from "../testing/report";
import { chooseTrace } from "./chooseTrace";
import { START } from "./place";

const listed = (...runs: ListedRun[]): Runs => ({
  logdir: "runs",
  version: "0",
  runs,
  left_out: { links: 0, folders: 0 },
  dry_run: null,
});
const runs = listed(run("old", { w1: ["1"] }, 1), run("new", { w1: ["3", "2"], w2: ["4"] }, 9));

function chosen(place: Partial<typeof START>, remembered: string | null = null): string {
  const choice = chooseTrace(runs, { ...START, ...place }, remembered);
  if (choice === null) return "nothing";
  if (!choice.found) return `no ${choice.missing} ${choice.name} in ${choice.existing.join()}`;
  return `${choice.run.name} ${choice.worker.name} ${choice.trace.id}`;
}

test("the address wins over memory, memory over the newest", () => {
  expect(chosen({ run: "old" }, "new")).toBe("old w1 1");
  expect(chosen({}, "old")).toBe("old w1 1");
  expect(chosen({}, "gone")).toBe("new w1 3");
  expect(chosen({})).toBe("new w1 3");
  expect(chosen({ run: "new", worker: "w1", trace: "2" })).toBe("new w1 2");
});

test("what does not exist is named, with what does", () => {
  expect(chosen({ run: "x" })).toBe("no run x in old,new");
  expect(chosen({ run: "new", worker: "x" })).toBe("no worker x in w1,w2");
  expect(chosen({ run: "new", trace: "x" })).toBe("no trace x in 3,2");
});

test("runs without traces are no runs", () => {
  expect(chooseTrace(listed(run("empty", { w: [] })), START, null)).toBeNull();
  expect(chooseTrace(listed(), START, null)).toBeNull();
});
