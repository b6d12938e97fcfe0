import type { ReactElement } from "react";

import type { CompareSide } from "../../api/client";
import type { Target } from "../../api/request";
import type { Compared, ReportData, Runs } from "../../api/schema";
import { Name } from "../../components/Name";
import { Picker } from "../../components/controls";
import { RunPicker } from "../../parts/RunPicker";
import { usePlace } from "../../parts/services";
import { clip } from "../../text/formats";
import { stepLabel } from "../../text/names";
import type { Base, ComparePlace } from "./address";
import { stepRange, swapped } from "./sides";

interface SidesProps {
  listed: Runs;
  whole: ReportData;
  target: Target;
  base: CompareSide;
  other: CompareSide;
  /** null until it is there. */
  compared: Compared | null;
}

/** Which traces are compared: the one before is chosen here, the one after at the top. */
export function Sides(props: SidesProps): ReactElement {
  const { whole, target, base, other, compared } = props;
  const [place, go] = usePlace();
  const change = (rest: Partial<ComparePlace>): void =>
    go({ compare: { ...place.compare, row: null, ...rest } });
  const names = whole.steps.map(({ name }) => name);
  return (
    <div className="sides">
      <fieldset>
        <legend>before</legend>
        <BasePickers
          listed={props.listed}
          base={base}
          onChange={(next) => change({ base: next })}
        />
        <StepRange
          label="before"
          all={compared?.base_steps ?? []}
          chosen={base.steps.length > 0 ? base.steps : (compared?.comparison.base.step_names ?? [])}
          onChange={(steps) => change({ base: { ...base, steps } })}
        />
      </fieldset>
      <button type="button" onClick={() => go(swapped(place, base, other))}>
        Swap
      </button>
      <fieldset>
        <legend>after</legend>
        <span className="side-name">
          <Name text={target.run} className="code" /> · <Name text={target.worker} />
        </span>
        <StepRange
          label="after"
          all={names}
          chosen={
            other.steps.length > 0 ? other.steps : (compared?.comparison.other.step_names ?? [])
          }
          onChange={(steps) => go({ step: null, compare: { ...place.compare, row: null, steps } })}
        />
      </fieldset>
      <button type="button" className="quiet" onClick={() => change({ base: null, steps: [] })}>
        Change
      </button>
    </div>
  );
}

interface BasePickersProps {
  listed: Runs;
  base: CompareSide;
  onChange: (base: Base) => void;
}

function BasePickers({ listed, base, onChange }: BasePickersProps): ReactElement {
  const run = listed.runs.find(({ name }) => name === base.run);
  const worker = run?.workers.find(({ name }) => name === base.worker);
  const named = (names: readonly { name: string }[]): { value: string; text: string }[] =>
    names.map(({ name }) => ({ value: name, text: name }));
  return (
    <>
      <RunPicker
        listed={listed}
        value={base.run}
        onChange={(name) => onChange({ run: name, worker: null, trace: null, steps: [] })}
      />
      {run !== undefined && run.workers.length > 1 && (
        <Picker
          label="worker"
          value={base.worker}
          options={named(run.workers)}
          onChange={(name) => onChange({ run: base.run, worker: name, trace: null, steps: [] })}
        />
      )}
      {worker !== undefined && worker.traces.length > 1 && (
        <Picker
          label="trace"
          value={base.trace ?? ""}
          options={worker.traces.map(({ id, modified }) => ({
            value: id,
            text: `${new Date(modified * 1000).toLocaleString()} (${id})`,
          }))}
          onChange={(id) => onChange({ run: base.run, worker: base.worker, trace: id, steps: [] })}
        />
      )}
    </>
  );
}

interface StepRangeProps {
  label: string;
  /** Names of all steps of the trace. */
  all: readonly string[];
  /** Those compared; none where they are not known yet. */
  chosen: readonly string[];
  onChange: (steps: readonly string[]) => void;
}

/** A range of steps, from one to another. */
function StepRange({ label, all, chosen, onChange }: StepRangeProps): ReactElement | null {
  if (all.length < 2) return null;
  const first = chosen[0] === undefined ? 0 : Math.max(0, all.indexOf(chosen[0]));
  const end = chosen.at(-1);
  const last = end === undefined ? all.length - 1 : Math.max(first, all.indexOf(end));
  const ends = [
    { says: "first", at: first, range: (to: number) => stepRange(all, to, Math.max(to, last)) },
    { says: "last", at: last, range: (to: number) => stepRange(all, Math.min(first, to), to) },
  ];
  return (
    <span className="picker whole step-range">
      <span className="picker-label">steps</span>
      {ends.map(({ says, at, range }) => (
        <select
          key={says}
          aria-label={`${label}, ${says} step`}
          value={at}
          onChange={(event) => onChange(range(Number(event.target.value)))}
        >
          {all.map((name, index) => (
            <option key={name} value={index}>
              {clip(stepLabel(name), 60)}
            </option>
          ))}
        </select>
      ))}
    </span>
  );
}
