import type { ReactElement } from "react";

import type { View } from "../address/place";
import type { Target } from "../api/request";
import type { ReportData, Runs } from "../api/schema";
import { headline } from "../report/headline";
import { hasBackward, stepsLength, stepWord } from "../report/measures";
import { avoidable, isHighlighted, lostIn } from "../report/syncs";
import { count, counted, NOTHING } from "../text/formats";
import compare from "../views/compare/compare.css?inline";
import { CompareView } from "../views/compare/CompareView";
import findings from "../views/findings/findings.css?inline";
import { FindingsView } from "../views/findings/FindingsView";
import history from "../views/history/history.css?inline";
import { HistoryView } from "../views/history/HistoryView";
import kernels from "../views/kernels/kernels.css?inline";
import { KernelsView } from "../views/kernels/KernelsView";
import memory from "../views/memory/memory.css?inline";
import { MemoryView } from "../views/memory/MemoryView";
import modules from "../views/modules/modules.css?inline";
import { ModulesView } from "../views/modules/ModulesView";
import operators from "../views/operators/operators.css?inline";
import { OperatorsView } from "../views/operators/OperatorsView";
import ranks from "../views/ranks/ranks.css?inline";
import together from "../views/ranks/together.css?inline";
import { RanksView } from "../views/ranks/RanksView";
import summary from "../views/summary/summary.css?inline";
import { SummaryView } from "../views/summary/SummaryView";
import syncs from "../views/syncs/syncs.css?inline";
import query from "../views/query/query.css?inline";
import { QueryView } from "../views/query/QueryView";
import { SyncsView } from "../views/syncs/SyncsView";
import timeline from "../views/timeline/timeline.css?inline";
import { TimelineView } from "../views/timeline/TimelineView";
import whatIf from "../views/whatif/whatif.css?inline";
import { WhatIfView } from "../views/whatif/WhatIfView";

interface ViewProps {
  report: ReportData;
  target: Target;
  /** Of all steps, whatever step is shown. */
  whole: ReportData;
  listed: Runs;
}

/** The one number that says whether to go to a view. */
export interface Badge {
  text: string;
  /** What it counts. */
  title: string;
  /** Whether it deserves a look. */
  look?: boolean;
}

interface ViewEntry {
  /** Given the report of all steps, null until it is there. */
  title: (whole: ReportData | null) => string;
  component: (props: ViewProps) => ReactElement;
  /** What people look for that its title does not say. */
  note?: string;
  style: string;
  /** Whether a run of some workers has it; without, every run has. */
  applies?: (workers: number) => boolean;
  badge?: (report: ReportData, whole: ReportData) => Badge;
}

/** Every view; `VIEWS` of `address/place.ts` says their order. */
export const VIEW_ENTRIES: Readonly<Record<View, ViewEntry>> = {
  summary: { title: () => "Summary", component: SummaryView, style: summary },
  modules: {
    title: () => "Modules",
    note: "backward, forward",
    component: ModulesView,
    style: modules,
    badge: modulesBadge,
  },
  syncs: { title: () => "Syncs", component: SyncsView, style: syncs, badge: syncsBadge },
  operators: { title: () => "Operators", component: OperatorsView, style: operators },
  kernels: { title: () => "Kernels", component: KernelsView, style: kernels },
  timeline: { title: () => "Timeline", component: TimelineView, style: timeline },
  memory: { title: () => "Memory", component: MemoryView, style: memory },
  ranks: {
    title: () => "Ranks",
    component: RanksView,
    style: `${ranks}${together}`,
    applies: (workers) => workers > 1,
  },
  history: { title: () => "History", component: HistoryView, style: history },
  findings: {
    title: () => "Findings",
    component: FindingsView,
    style: findings,
    badge: ({ findings }) => ({
      text: count(findings.length),
      title: counted(findings.length, "finding"),
    }),
  },
  whatif: { title: () => "What-if", component: WhatIfView, style: whatIf },
  query: { title: () => "Query", component: QueryView, style: query },
  compare: { title: () => "Compare", component: CompareView, style: compare },
};

/** The share of the backward pass in a step; without a backward pass, the number of modules. */
function modulesBadge(report: ReportData, whole: ReportData): Badge {
  if (!hasBackward(whole)) {
    const { length } = report.modules;
    return { text: count(length), title: counted(length, "module") };
  }
  const share = headline(report, "mean").stepShare;
  return {
    text: share === null ? NOTHING : `${Math.round(share * 100)}%`,
    title: `Share of the ${stepWord(report)} that the host spends in the backward pass`,
  };
}

function syncsBadge(means: ReportData, whole: ReportData): Badge {
  const report = means.per_step.chosen ? means : whole;
  if (report.totals.sync_count === null)
    return {
      text: NOTHING,
      title: "Syncs are unknown: no call of a device's runtime was recorded",
    };
  const syncs = avoidable(report.syncs);
  const lost = syncs.reduce(
    (sum, sync) => sum + (lostIn(sync.duration_us, sync.device_idle_us) ?? 0),
    0,
  );
  return {
    text: count(syncs.length),
    title: `${counted(syncs.length, "sync")}, without the profiler's own`,
    look: isHighlighted(lost, stepsLength(report)),
  };
}
