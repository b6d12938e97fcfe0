import type { ReactElement, ReactNode } from "react";

import type { Choice } from "../address/chooseTrace";
import { START } from "../address/place";
import type { ReportData, Runs, Step } from "../api/schema";
import { Picker } from "../components/controls";
import { averagedSteps } from "../report/measures";
import { RunPicker } from "../parts/RunPicker";
import { usePlace } from "../parts/services";
import { traceOptions } from "../text/names";
import { CoverageNote } from "./CoverageNote";
import { Help } from "./Help";

/** What means nothing in another trace. */
const OF_A_TRACE = {
  step: null,
  sync: null,
  shown: null,
  range: null,
  mark: null,
  event: null,
  lanes: START.lanes,
} as const;

interface TopBarProps {
  listed: Runs;
  choice: Extract<Choice, { found: true }>;
  /** Report of all steps, null while it is being read. */
  whole: ReportData | null;
  /** Report of the chosen step, else of the measured steps. */
  means: ReportData | null;
  /** What stands after the selectors. */
  children: ReactNode;
}

/** What is looked at, and how far it can be trusted. */
export function TopBar({ listed, choice, whole, means, children }: TopBarProps): ReactElement {
  const [place, go] = usePlace();
  const { run, worker, trace } = choice;
  // What another trace is held against stays; steps and rows are of this one.
  const compare = { ...place.compare, steps: [], row: null };
  const named = (names: readonly { name: string }[]): { value: string; text: string }[] =>
    names.map(({ name }) => ({ value: name, text: name }));
  return (
    <header className="topbar">
      <span className="brand">HookView</span>
      <RunPicker
        listed={listed}
        value={run.name}
        onChange={(name) => {
          const { view, averaging } = place;
          go({ ...START, view, averaging, run: name, compare });
        }}
      />
      <Picker
        label="worker"
        value={worker.name}
        options={named(run.workers)}
        onChange={(name) =>
          go({ ...OF_A_TRACE, run: run.name, worker: name, trace: null, compare })
        }
      />
      {worker.traces.length > 1 && (
        <Picker
          label="trace"
          value={trace.id}
          options={traceOptions(worker.traces)}
          onChange={(id) =>
            go({ ...OF_A_TRACE, run: run.name, worker: worker.name, trace: id, compare })
          }
        />
      )}
      {whole?.per_step.marked === true && <StepPicker steps={whole.steps} />}
      {children}
      <span className="spring" />
      {means !== null && <CoverageNote report={means} />}
      <Help />
    </header>
  );
}

const ALL_MEAN = "mean";
const ALL_TOTAL = "total";
const ONE = "step:";

/** All steps averaged, all added up, or a single one. */
function StepPicker({ steps }: { steps: readonly Step[] }): ReactElement {
  const [place, go] = usePlace();
  const all =
    steps.length === 1
      ? [{ value: ALL_MEAN, text: shortName(steps[0]?.name ?? "") }]
      : [
          { value: ALL_MEAN, text: `${range(averagedSteps(steps))} (mean)` },
          { value: ALL_TOTAL, text: `${range(steps)} (total)` },
        ];
  const single = steps.map(({ name }) => ({ value: `${ONE}${name}`, text: shortName(name) }));
  const options = steps.length === 1 ? all : [...all, ...single];
  const fallback = steps.length > 1 && place.averaging === "total" ? ALL_TOTAL : ALL_MEAN;
  const chosen = place.step === null ? fallback : `${ONE}${place.step}`;
  return (
    <Picker
      label={steps.length === 1 ? "step" : "steps"}
      value={options.some(({ value }) => value === chosen) ? chosen : fallback}
      options={options}
      whole
      onChange={(value) => {
        if (value.startsWith(ONE)) go({ step: value.slice(ONE.length), averaging: "mean" });
        else go({ step: null, averaging: value === ALL_TOTAL ? "total" : "mean" });
      }}
    />
  );
}

function shortName(name: string): string {
  return name.replace(/^ProfilerStep#/, "");
}

/** "5–7" where the steps are consecutive numbers, else how many there are. */
function range(steps: readonly Step[]): string {
  const numbers = steps.map(({ name }) => Number(shortName(name)));
  const first = numbers[0] ?? Number.NaN;
  const consecutive = numbers.every((n, index) => n === first + index);
  if (steps.length === 1) return shortName(steps[0]?.name ?? "");
  return consecutive ? `${first}–${first + steps.length - 1}` : `${steps.length} steps`;
}
