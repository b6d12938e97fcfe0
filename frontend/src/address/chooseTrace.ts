import type { ListedRun, ListedTrace, ListedWorker, Runs } from "../api/schema";
import type { Place } from "./place";

/** The trace a place points at, filled up with defaults; or which of its names does not exist. */
export type Choice =
  | { found: true; run: ListedRun; worker: ListedWorker; trace: ListedTrace }
  | { found: false; missing: "run" | "worker" | "trace"; name: string; existing: string[] };

/**
 * @param remembered name of the run looked at last, used where the place names none
 */
export function chooseTrace(runs: Runs, place: Place, remembered: string | null): Choice | null {
  const filled = runs.runs.filter((run) => run.workers.some((worker) => worker.traces.length > 0));
  if (filled.length === 0) return null;
  const run =
    place.run === null
      ? (filled.find(({ name }) => name === remembered) ?? newestRun(filled))
      : filled.find(({ name }) => name === place.run);
  if (run === undefined) return missing("run", place.run, filled.map(nameOf));
  const workers = run.workers.filter((worker) => worker.traces.length > 0);
  const worker =
    place.worker === null ? workers[0] : workers.find(({ name }) => name === place.worker);
  if (worker === undefined) return missing("worker", place.worker, workers.map(nameOf));
  const trace =
    place.trace === null ? worker.traces[0] : worker.traces.find(({ id }) => id === place.trace);
  const ids = worker.traces.map(({ id }) => id);
  if (trace === undefined) return missing("trace", place.trace, ids);
  return { found: true, run, worker, trace };
}

function nameOf({ name }: { name: string }): string {
  return name;
}

/** The run with the newest trace; the first of those that are equally new. */
function newestRun(runs: readonly ListedRun[]): ListedRun | undefined {
  const age = (run: ListedRun): number =>
    Math.max(...run.workers.flatMap((worker) => worker.traces.map((trace) => trace.modified)));
  return runs.reduce<ListedRun | undefined>(
    (best, run) => (best === undefined || age(run) > age(best) ? run : best),
    undefined,
  );
}

function missing(
  kind: "run" | "worker" | "trace",
  name: string | null,
  existing: string[],
): Choice {
  return { found: false, missing: kind, name: name ?? "", existing };
}
