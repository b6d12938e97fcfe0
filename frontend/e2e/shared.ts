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

const HOSTILE = "<img src=x onerror=alert(1)>.\u202egnp\u2066\nmodule";

/** Runs that several files look at; one that a single file needs is added there. */
function addRuns(logdir: LogDir): void {
  logdir.addReal("tiny");
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
}
