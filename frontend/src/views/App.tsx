import { useEffect, useMemo, type ReactElement } from "react";

import type { Target } from "../api/client";
import type { WireReport, WireRuns } from "../api/types";
import { rememberedRun, rememberRun } from "../browser/storage";
import { chooseTrace, type Choice } from "../model/chooseTrace";
import type { View } from "../model/place";
import { BackwardView } from "./backward/BackwardView";
import { FindingsView } from "./findings/FindingsView";
import { Navigation } from "./shell/Navigation";
import { TopBar } from "./shell/TopBar";
import { usePlace, useServices } from "./state/context";
import { useLoad } from "./state/useLoad";
import { useReports } from "./state/useReport";
import { Empty } from "./states/Empty";
import { ErrorCard } from "./states/ErrorCard";
import { Loading } from "./states/Loading";
import { Missing } from "./states/Missing";
import { SyncsView } from "./syncs/SyncsView";
import { TimelineView } from "./timeline/TimelineView";

interface PageProps {
  report: WireReport;
  target: Target;
}

const PAGES: Readonly<Record<View, (props: PageProps) => ReactElement>> = {
  backward: BackwardView,
  syncs: SyncsView,
  timeline: TimelineView,
  findings: FindingsView,
};

export function App(): ReactElement {
  const { api } = useServices();
  const [place] = usePlace();
  const runs = useLoad(api.runs);
  const { value } = runs.status === "error" ? { value: null } : runs;
  if (runs.status === "error") return <ErrorCard error={runs.error} onRetry={runs.retry} />;
  if (value === null) return <div className="state" role="status" aria-label="Loading" />;
  const choice = chooseTrace(value, place, rememberedRun());
  if (choice === null) return <Empty logdir={value.logdir} onRetry={runs.retry} />;
  if (!choice.found) return <Missing choice={choice} />;
  return <TracePage runs={value} choice={choice} onRefresh={runs.retry} />;
}

interface TracePageProps {
  runs: WireRuns;
  choice: Extract<Choice, { found: true }>;
  onRefresh: () => void;
}

/** One trace: selectors on top, views at the side, the view itself. */
function TracePage({ runs, choice, onRefresh }: TracePageProps): ReactElement {
  const [place] = usePlace();
  const run = choice.run.name;
  const worker = choice.worker.name;
  const trace = choice.trace.id;
  const target = useMemo(
    (): Target => ({ run, worker, trace, step: place.step }),
    [run, worker, trace, place.step],
  );
  useEffect(() => {
    rememberRun(run);
  }, [run]);
  const { whole, shown } = useReports(target);
  const Page = PAGES[place.view];
  return (
    <div className="page">
      <TopBar
        runs={runs}
        choice={choice}
        whole={whole.status === "ready" ? whole.value : null}
        shown={shown.status === "ready" ? shown.value : null}
        onRefresh={onRefresh}
      />
      <Navigation report={shown.status === "ready" ? shown.value : null} />
      <main className="content">
        {shown.status === "error" && (
          <ErrorCard
            error={shown.error}
            file={choice.trace.file}
            onRetry={whole.status === "error" ? whole.retry : shown.retry}
          />
        )}
        {shown.status === "loading" && <Loading target={target} file={choice.trace.file} />}
        {shown.status === "ready" && (
          <Page
            key={`${run}\n${worker}\n${trace}\n${place.view}`}
            report={shown.value}
            target={target}
          />
        )}
      </main>
    </div>
  );
}
