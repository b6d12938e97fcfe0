import { expect, test } from "vitest";

import type { ListedTrace, Runs } from "../api/schema";
import { newTraces } from "./Refresh";

const trace = (id: string, modified: number): ListedTrace => ({ id, file: id, bytes: 1, modified });

function runs(named: Record<string, ListedTrace[]>): Runs {
  const list = Object.entries(named).map(([name, traces]) => ({
    name,
    workers: [{ name: "w", traces }],
  }));
  return {
    logdir: "runs",
    version: "0",
    runs: list,
    left_out: { links: 0, folders: 0 },
    dry_run: null,
  };
}

test("nothing new is nothing new, also when a trace has gone", () => {
  const before = runs({ vit: [trace("2", 2), trace("1", 1)] });
  expect(newTraces(before, before)).toEqual({ count: 0, newest: null });
  expect(newTraces(before, runs({ vit: [trace("1", 1)] }))).toEqual({ count: 0, newest: null });
});

test("new runs, new traces and those written again count; the newest is named", () => {
  const before = runs({ vit: [trace("1", 1)] });
  const after = runs({ vit: [trace("2", 5), trace("1", 9)], bert: [trace("1", 7)] });
  expect(newTraces(before, after)).toEqual({
    count: 3,
    newest: { run: "vit", worker: "w", trace: "1" },
  });
});
