import { useMemo, type ReactElement } from "react";

import { COUNTED, type ApiError, type Target } from "../api/request";
import type { ListedTrace, ReportData } from "../api/schema";
import { useLoad, usePlace, useServices, type Loaded } from "../parts/services";
import { ErrorCard, Loading } from "../parts/states";

interface TraceContentProps {
  reports: Reports;
  target: Target;
  trace: ListedTrace;
  children: (report: ReportData) => ReactElement;
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
          <button type="button" onClick={() => go({ step: null })}>
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

interface Reports {
  /** The report of all steps, where the names of the steps come from; null until it is there. */
  whole: ReportData | null;
  /** The report of the chosen step, else of the measured steps; null until it is there. */
  means: ReportData | null;
  /** The report to show; of other steps of the trace, or the file before, while it is stale. */
  shown: ReportData | null;
  stale: boolean;
  error: ApiError | null;
  retry: () => void;
  stop: () => void;
}

/** A report, and of which trace it is. */
interface Shown {
  trace: string;
  report: ReportData;
}

/**
 * The whole report first, then, from what the server then has at hand, that of the chosen step or
 * of the measured steps. What is shown stays until there is something else of the same trace, so
 * that nobody loses their place.
 *
 * @param target what the view shows
 * @param chosen the chosen step, null without
 * @param state changes when the trace's file does
 */
export function useReports(target: Target, chosen: string | null, state: string): Reports {
  const { run, worker, trace, step } = target;
  const whole = useMemo(() => ({ run, worker, trace, step: null }), [run, worker, trace]);
  const part = useMemo(
    () => ({ run, worker, trace, step: chosen ?? COUNTED }),
    [run, worker, trace, chosen],
  );
  const all = useReport(whole, true, state);
  // A trace without steps is one step.
  const same = chosen === null && all.report !== null && !all.report.per_step.marked;
  const ready = all.loaded.status === "ready";
  const one = useReport(part, ready && !same, state);
  const { loaded } = step === null || same || !ready ? all : one;
  const means = same ? all.report : (one.report ?? (chosen === null ? null : all.report));
  return {
    whole: all.report,
    means,
    shown: step === null ? all.report : means,
    stale: loaded.status === "loading",
    error: loaded.status === "error" ? loaded.error : null,
    retry: loaded.retry,
    stop: loaded.stop,
  };
}

function useReport(
  target: Target,
  wanted: boolean,
  state: string,
): { loaded: Loaded<Shown>; report: ReportData | null } {
  const { api } = useServices();
  const trace = JSON.stringify([target.run, target.worker, target.trace]);
  const load = useMemo(
    () =>
      wanted
        ? async (signal: AbortSignal): Promise<Shown> => ({
            trace,
            report: await api.report(target, signal),
          })
        : null,
    // eslint-disable-next-line react-hooks/exhaustive-deps -- another state is another report
    [api, target, trace, wanted, state],
  );
  const loaded = useLoad(load);
  const shown = loaded.status === "error" ? null : loaded.value;
  return { loaded, report: shown?.trace === trace ? shown.report : null };
}
