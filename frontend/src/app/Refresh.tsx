import type { ReactElement } from "react";

import { counted } from "../text/formats";
import { START } from "../address/place";
import { usePlace } from "../parts/context";
import type { Runs } from "./useRuns";

interface RefreshProps {
  runs: Runs;
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
          onClick={() => {
            go({ ...START, view: place.view, averaging: place.averaging, ...newest });
          }}
        >
          Show the newest
        </button>
      )}
    </span>
  );
}
