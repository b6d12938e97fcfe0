import type { ReactElement, ReactNode } from "react";

import type { WireReport, WireRuns } from "../api/types";
import type { Choice } from "../address/chooseTrace";
import { START } from "../address/place";
import { usePlace } from "../parts/context";
import { CoverageNote } from "./CoverageNote";
import { Picker } from "../components/Picker";
import { StepPicker } from "./StepPicker";

/** What means nothing in another trace. */
const OF_A_TRACE = {
  step: null,
  sync: null,
  shown: null,
  range: null,
  mark: null,
  event: null,
} as const;

interface TopBarProps {
  listed: WireRuns;
  choice: Extract<Choice, { found: true }>;
  /** Report of all steps, null while it is being read. */
  whole: WireReport | null;
  /** Report on show. */
  shown: WireReport | null;
  /** What stands behind the selectors. */
  children: ReactNode;
}

/** What is looked at, and how far it can be trusted. */
export function TopBar({ listed, choice, whole, shown, children }: TopBarProps): ReactElement {
  const [place, go] = usePlace();
  const { run, worker, trace } = choice;
  // What another trace is held against stays; steps and rows are of this one.
  const compare = { ...place.compare, steps: [], row: null };
  const named = (names: readonly { name: string }[]): { value: string; text: string }[] =>
    names.map(({ name }) => ({ value: name, text: name }));
  return (
    <header className="topbar">
      <span className="brand">HookView</span>
      <Picker
        label="run"
        value={run.name}
        options={named(listed.runs)}
        onChange={(name) => {
          const { view, averaging } = place;
          go({ ...START, view, averaging, run: name, compare });
        }}
      />
      <Picker
        label="worker"
        value={worker.name}
        options={named(run.workers)}
        onChange={(name) => {
          go({ ...OF_A_TRACE, run: run.name, worker: name, trace: null, compare });
        }}
      />
      {worker.traces.length > 1 && (
        <Picker
          label="trace"
          value={trace.id}
          options={worker.traces.map((one) => ({
            value: one.id,
            text: traceText(one.modified, one.id),
          }))}
          onChange={(id) => {
            go({ ...OF_A_TRACE, run: run.name, worker: worker.name, trace: id, compare });
          }}
        />
      )}
      {whole !== null && whole.steps.length > 0 && <StepPicker steps={whole.steps} />}
      {children}
      <span className="spring" />
      {shown !== null && <CoverageNote report={shown} />}
    </header>
  );
}

function traceText(modified: number, id: string): string {
  const date = new Date(modified * 1000);
  return Number.isNaN(date.getTime()) ? id : `${date.toLocaleString()} (${id})`;
}
