import { type ReactElement, useEffect, useMemo } from "react";

import { type Choice, chooseTrace } from "../address/chooseTrace";
import type { Place, View } from "../address/place";
import { COUNTED, type Target } from "../api/request";
import type { Runs } from "../api/schema";
import { Name } from "../components/Name";
import { readStored, store } from "../components/browser";
import { MarkedContext } from "../components/words";
import { useRunKey } from "../parts/run";
import { useLoad, usePlace, useServices } from "../parts/services";
import { ErrorCard } from "../parts/states";
import { clip, counted } from "../text/formats";
import { DryRunView } from "../views/dryrun/DryRunView";
import { Help } from "./Help";
import { Navigation } from "./Navigation";
import { Empty, LeftOut, Missing } from "./NoTrace";
import { Refresh, type RunsState, useRuns } from "./Refresh";
import { TopBar } from "./TopBar";
import { TraceContent, useReports } from "./TraceContent";
import { VIEW_ENTRIES } from "./views";

export function App(): ReactElement {
  const [place] = usePlace();
  const runs = useRuns();
  const { value, error, refresh } = runs;
  if (value === null && error !== null) return <ErrorCard error={error} onRetry={refresh} />;
  if (value === null) return <div className="state" role="status" aria-label="Loading" />;
  if (value.dry_run !== null) return <DryRunPage file={value.dry_run} />;
  const choice = chooseTrace(value, place, readStored(RUN));
  if (choice === null) return <Empty listed={value} onRetry={refresh} />;
  if (!choice.found) return <Missing choice={choice} />;
  return <TracePage runs={runs} listed={value} choice={choice} />;
}

interface TracePageProps {
  runs: RunsState;
  listed: Runs;
  choice: Extract<Choice, { found: true }>;
}

/** One trace: selectors on top, views at the side, the view itself. */
function TracePage({ runs, listed, choice }: TracePageProps): ReactElement {
  const [place] = usePlace();
  const run = choice.run.name;
  const worker = choice.worker.name;
  const { id: trace, modified, bytes } = choice.trace;
  const step = stepsOf(place);
  const target = useMemo((): Target => ({ run, worker, trace, step }), [run, worker, trace, step]);
  useEffect(() => {
    store(RUN, run);
  }, [run]);
  const reports = useReports(target, place.step, `${modified} ${bytes}`);
  const { whole, means } = reports;
  const { title, component: Shown } = VIEW_ENTRIES[place.view];
  usePageTitle(pageTitle(title(whole), run));
  return (
    <div className="page">
      <TopBar listed={listed} choice={choice} whole={whole} means={means}>
        <Refresh runs={runs} shown={{ run, worker, trace }} />
        <LeftOut listed={listed} />
      </TopBar>
      <Navigation
        report={means}
        whole={whole}
        runKey={useRunKey(listed, run)}
        workers={choice.run.workers.length}
      />
      <main className="content">
        <h1 className="visually-hidden">{title(whole)}</h1>
        <TraceContent reports={reports} target={target} trace={choice.trace}>
          {(report) => (
            <MarkedContext value={isOfRun(place.view) || report.per_step.marked}>
              <Shown
                key={`${run}\n${worker}\n${trace}\n${place.view}`}
                report={report}
                target={target}
                whole={whole ?? report}
                listed={listed}
              />
            </MarkedContext>
          )}
        </TraceContent>
      </main>
    </div>
  );
}

/** Whether a view is about all traces of a run, which say themselves whether they mark steps. */
function isOfRun(view: View): boolean {
  return view === "ranks" || view === "history";
}

/**
 * Which steps a view is about: means are over those that count, events are listed of all; a chosen
 * step is all that there is.
 */
function stepsOf({ step, view, averaging }: Place): string | null {
  if (step !== null) return step;
  return view === "summary" || (view === "modules" && averaging === "mean") ? COUNTED : null;
}

/** Name the document, for tabs, history and screen readers. */
function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const MOST = 80;

/** The page's title, for tabs and history: which view of which run. */
function pageTitle(view: string, run: string): string {
  // A run's writing direction is isolated.
  return `${view} · \u2068${clip(run, MOST)}\u2069 · HookView`;
}

/** Under this the name of the run looked at last is stored. */
const RUN = "run";

/** A dry run in the place of traces: its syncs are all that there is. */
function DryRunPage({ file }: { file: string }): ReactElement {
  const { api } = useServices();
  const loaded = useLoad(api.dryRun);
  useEffect(() => {
    document.title = `Syncs of a dry run · \u2068${file}\u2069 · HookView`;
  }, [file]);
  if (loaded.status === "error") {
    return <ErrorCard error={loaded.error} file={file} onRetry={loaded.retry} />;
  }
  const run = loaded.value;
  const cut = run?.cut?.syncs ?? 0;
  return (
    <div className="page">
      <header className="topbar">
        <span className="brand">HookView</span>
        <strong className="dry-run-mark">Dry run</strong>
        <Name text={file} className="code" />
        <span className="spring" />
        {cut > 0 && <span className="muted">{counted(cut, "row")} not shown: too many</span>}
        <Help />
      </header>
      <nav className="navigation" aria-label="Views">
        <a className="current" aria-current="page" href="#/syncs">
          <span>Syncs</span>
        </a>
      </nav>
      <main className="content">
        {run === null ? (
          <div className="state" role="status" aria-label="Loading" />
        ) : (
          <div className="content-inner">
            <h1 className="visually-hidden">Syncs of a dry run</h1>
            <DryRunView run={run} />
          </div>
        )}
      </main>
    </div>
  );
}
