import { type ReactElement, useState } from "react";

import type { CompareSide } from "../../api/client";
import type { Target } from "../../api/request";
import type { Compared, ReportData, Runs } from "../../api/schema";
import { Name } from "../../components/Name";
import { Picker } from "../../components/controls";
import { PlaceLink } from "../../parts/PlaceLink";
import { RunPicker } from "../../parts/RunPicker";
import { usePlace } from "../../parts/services";
import { averagedSteps } from "../../report/measures";
import { clip, counted } from "../../text/formats";
import { stepLabel, traceOptions } from "../../text/names";
import { type Base, COMPARE, type ComparePlace } from "./address";
import { stepRange, type SuggestionGroup, suggestionGroups, suggestions, swapped } from "./sides";

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
          options={traceOptions(worker.traces)}
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
          title={all[at]}
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

interface ChooseBaseProps {
  listed: Runs;
  whole: ReportData;
  target: Target;
  /** What the address names and is not there; null where it names none. */
  missing: string | null;
}

/** Nothing to compare with is chosen yet: likely ones, each a click away. */
export function ChooseBase({ listed, whole, target, missing }: ChooseBaseProps): ReactElement {
  const counted = averagedSteps(whole.steps);
  // Before all others those that count: the first step warms up.
  const steps = (counted.length > 1 ? counted : whole.steps).map(({ name }) => name);
  const groups = suggestionGroups(suggestions(listed, target, steps));
  return (
    <div className="state wide">
      <h1>Compare with what?</h1>
      {missing !== null && (
        <p role="alert">
          There is no <bdi className="code">{missing}</bdi> to compare with any more.
        </p>
      )}
      <p>
        <bdi className="code">{target.run}</bdi> · <bdi className="code">{target.worker}</bdi> is
        the side <strong>after</strong>: choose the one <strong>before</strong>.
      </p>
      {groups.length === 0 ? (
        <p className="muted">
          There is only one step of one trace here. Record another after a change to compare the
          two.
        </p>
      ) : (
        groups.map((group) => <Choices key={group.kind} group={group} />)
      )}
    </div>
  );
}

function Choices({ group }: { group: SuggestionGroup }): ReactElement {
  const [open, setOpen] = useState(false);
  const { kind, all, first } = group;
  const hidden = all.length - first.length;
  return (
    <ul className="base-choices">
      {(open ? all : first).map(({ base, steps, name }) => (
        <li key={`${base.run} ${base.worker ?? ""} ${base.trace ?? ""}`}>
          <PlaceLink to={{ compare: { ...COMPARE.start, base, steps } }} className="base-choice">
            <span className="muted">{kind}</span>
            <Name text={name} className="code" />
          </PlaceLink>
        </li>
      ))}
      {!open && hidden > 0 && (
        <li>
          <button type="button" className="link" onClick={() => setOpen(true)}>
            and {counted(hidden, `more ${kind}`)}
          </button>
        </li>
      )}
    </ul>
  );
}
