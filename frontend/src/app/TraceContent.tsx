import type { ReactElement } from "react";

import type { Target } from "../api/client";
import type { WireReport, WireTrace } from "../api/types";
import { usePlace } from "../parts/context";
import type { Reports } from "./useReport";
import { ErrorCard } from "../parts/ErrorCard";
import { Loading } from "../parts/Loading";

interface TraceContentProps {
  reports: Reports;
  target: Target;
  trace: WireTrace;
  children: (report: WireReport) => ReactElement;
}

/** A view of the report, or what stands in its place until there is one. */
export function TraceContent(props: TraceContentProps): ReactElement {
  const { reports, target, trace, children } = props;
  const [place, go] = usePlace();
  const { shown, stale, error, retry, stop } = reports;
  if (error !== null) {
    const wrongStep = error.kind === "not_found" && place.step !== null && reports.whole !== null;
    return (
      <ErrorCard error={error} file={trace.file} onRetry={retry}>
        {wrongStep && (
          <button
            type="button"
            onClick={() => {
              go({ step: null });
            }}
          >
            Show all steps
          </button>
        )}
      </ErrorCard>
    );
  }
  if (shown === null) return <Loading target={target} trace={trace} onStop={stop} />;
  return (
    <div className={stale ? "content-inner stale" : "content-inner"} aria-busy={stale}>
      {children(shown)}
    </div>
  );
}
