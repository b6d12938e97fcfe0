import { useMemo, useState, type ReactElement } from "react";

import { START } from "../address/place";
import type { ApiError } from "../api/request";
import type { Runs } from "../api/schema";
import { useLoad, usePlace, useServices } from "../parts/services";
import { counted } from "../text/formats";

interface RefreshProps {
  runs: RunsState;
  /** The trace on show. */
  shown: { run: string; worker: string; trace: string };
}

/** Looks for new traces, stays at the one on show, and says what there is. */
export function Refresh({ runs, shown }: RefreshProps): ReactElement {
  const [place, go] = usePlace();
  const { news, error, refresh } = runs;
  const newest = news?.newest ?? null;
  return (
    <span className="refresh">
      <button
        type="button"
        className="quiet"
        title="Look for new traces"
        onClick={() => {
          // Else the address would mean the newest trace, and the place within this one be lost.
          go(shown, true);
          refresh();
        }}
      >
        Refresh
      </button>
      <span role="status" className="muted">
        {error !== null && "no answer"}
        {news !== null && (news.count === 0 ? "nothing new" : counted(news.count, "new trace"))}
      </span>
      {newest !== null && (
        <button
          type="button"
          className="link"
          onClick={() => go({ ...START, view: place.view, averaging: place.averaging, ...newest })}
        >
          Show the newest
        </button>
      )}
    </span>
  );
}

export interface RunsState {
  /** The runs as they were listed last. */
  value: Runs | null;
  error: ApiError | null;
  /** What the last refresh found; null before the first, and while one is under way. */
  news: News | null;
  refresh: () => void;
}

/** The list of runs. A refresh that fails leaves the list as it was. */
export function useRuns(): RunsState {
  const { api } = useServices();
  const loaded = useLoad(api.runs);
  const { status, retry } = loaded;
  const [before, setBefore] = useState<Runs | null>(null);
  const value = loaded.status === "error" ? before : loaded.value;
  const news = useMemo(
    () =>
      before === null || value === null || status !== "ready" ? null : newTraces(before, value),
    [before, status, value],
  );
  return {
    value,
    error: loaded.status === "error" ? loaded.error : null,
    news,
    refresh: () => {
      setBefore(value);
      retry();
    },
  };
}

/** What a later list of runs holds that an earlier one did not. */
interface News {
  /** Traces that are new, or written again. */
  count: number;
  /** Where the newest of these is, null without any. */
  newest: { run: string; worker: string; trace: string } | null;
}

export function newTraces(before: Runs, after: Runs): News {
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

function traces({ runs }: Runs): Listed[] {
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
