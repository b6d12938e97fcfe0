/** Before all files: a log directory and the server on it that they share. */
import type { TestProject } from "vitest/node";

import { memoryTrace } from "./memoryTrace";
import { serve } from "./server";
import { makeLogDir, type LogDir } from "./traces";

declare module "vitest" {
  interface ProvidedContext {
    shared: { url: string; path: string };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const logdir = makeLogDir();
  try {
    addRuns(logdir);
    const server = await serve(logdir.path);
    const stop = async (): Promise<void> => {
      await server.stop();
      logdir.remove();
    };
    if (!(await fetch(`${server.url}index.js`)).ok) {
      await stop();
      throw new Error("The page is not built: npm run build");
    }
    project.provide("shared", { url: server.url, path: logdir.path });
    return stop;
  } catch (error) {
    logdir.remove();
    throw error;
  }
}

/** Three steps on the host in which no rule finds anything. */
function quietTrace(): object[] {
  const row = (cat: string, name: string, ts: number, dur: number): object => {
    return { ph: "X", cat, name, pid: 1, tid: 1, ts, dur };
  };
  return [0, 1, 2].flatMap((step) => [
    row("user_annotation", `ProfilerStep#${step.toString()}`, 1000 * step, 1000),
    row("cpu_op", "aten::mm", 1000 * step + 10, 600),
    row("cpu_op", "aten::add", 1000 * step + 620, 300),
  ]);
}

/** A watched training of 200 steps: from step 120 on the backward of `body` takes longer. */
function addWatched(logdir: LogDir): void {
  logdir.addDevice("watched", [
    { path: "", className: "Net" },
    { path: "body", className: "Sequential", syncUs: 300 },
    { path: "head", className: "Linear" },
  ]);
  const rows = Array.from({ length: 200 }, (_, at) => {
    const more = at + 1 >= 120 ? 900 : 0;
    return {
      ...{ step: at + 1, time: at, duration_us: 1000 + more, data_us: 50, forward_us: 200 },
      ...{
        backward_us: 500 + more,
        after_backward_us: 10,
        optimizer_us: 90,
        gc_us: 0,
        gc_count: 0,
      },
      ...{ forward: [100, 100], backward: [300 + more, 200] },
    };
  });
  const recorded = { recorded: "gpu0.1.pt.trace.json", start: 122, steps: 3, reason: "slow" };
  const header = { watch: 1, rank: 0, world_size: 1, began: 1, blocks: ["body", "head"] };
  const lines = [header, ...rows, recorded].map((line) => JSON.stringify(line));
  logdir.addFile("watched/gpu0.1700000000000000000.steps.jsonl", lines.join("\n"));
}

const HOSTILE = "<img src=x onerror=alert(1)>.\u202egnp\u2066\nmodule";

/** Runs that several files look at; one that a single file needs is added there. */
function addRuns(logdir: LogDir): void {
  logdir.addReal("tiny");
  logdir.addFile("quiet/worker0.1.pt.trace.json", JSON.stringify({ traceEvents: quietTrace() }));
  logdir.addDevice("device", [
    { path: "", className: "Net" },
    { path: "body", className: "Sequential", syncUs: 300 },
    { path: "head", className: "Linear", syncUs: 500 },
  ]);
  logdir.addDevice("one sync", [
    { path: "", className: "Net" },
    { path: "body", className: "Sequential" },
    { path: "head", className: "Linear", syncUs: 500 },
  ]);
  logdir.addDevice("hostile", [
    { path: "", className: "X".repeat(10_000) },
    { path: HOSTILE, className: "<img src=x onerror=alert(1)>", syncUs: 300 },
    { path: "y".repeat(10_000), className: "\u202etxt", syncUs: 400 },
  ]);
  logdir.addFile("memory/cpu.1.pt.trace.json", JSON.stringify(memoryTrace()));
  logdir.addLostLaunches("lost");
  logdir.addRanks("late", 4, 2);
  logdir.addRanks("alone", 1, 0);
  addWatched(logdir);
}
