import type { WireRuns } from "../api/types";

/** What a later list of runs holds that an earlier one did not. */
export interface News {
  /** Traces that are new, or written anew. */
  count: number;
  /** Where the newest of these is, null without any. */
  newest: { run: string; worker: string; trace: string } | null;
}

export function newTraces(before: WireRuns, after: WireRuns): News {
  const known = new Set(traces(before).map(({ key }) => key));
  const fresh = traces(after).filter(({ key }) => !known.has(key));
  const newest = fresh.reduce<(typeof fresh)[number] | null>(
    (best, one) => (best === null || one.modified > best.modified ? one : best),
    null,
  );
  if (newest === null) return { count: 0, newest };
  const { run, worker, trace } = newest;
  return { count: fresh.length, newest: { run, worker, trace } };
}

interface Listed {
  run: string;
  worker: string;
  trace: string;
  modified: number;
  key: string;
}

function traces({ runs }: WireRuns): Listed[] {
  return runs.flatMap((run) =>
    run.workers.flatMap((worker) =>
      worker.traces.map(({ id, modified, bytes }) => ({
        run: run.name,
        worker: worker.name,
        trace: id,
        modified,
        key: JSON.stringify([run.name, worker.name, id, modified, bytes]),
      })),
    ),
  );
}
