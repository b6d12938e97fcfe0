import { useCallback, type ReactElement } from "react";

import type { Target } from "../../api/client";
import type { WireReport } from "../../api/types";
import { useServices } from "../../parts/context";
import { useLoad } from "../../parts/useLoad";
import { ErrorCard } from "../../parts/ErrorCard";
import { Timeline } from "./Timeline";

interface TimelineViewProps {
  report: WireReport;
  target: Target;
}

/** What happened when: the trace on one axis of time. */
export function TimelineView({ report, target }: TimelineViewProps): ReactElement {
  const { api } = useServices();
  const load = useCallback(
    (signal: AbortSignal) => api.timeline.overview(target, signal),
    [api, target],
  );
  const loaded = useLoad(load);
  if (loaded.status === "error") return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  if (loaded.value === null) {
    return (
      <div className="state" role="status">
        <h1>Laying out the timeline</h1>
      </div>
    );
  }
  return <Timeline report={report} target={target} timeline={loaded.value} />;
}
