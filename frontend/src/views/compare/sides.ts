import { type Choice, chooseTrace } from "../../address/chooseTrace";
import { type Place, START } from "../../address/place";
import type { CompareSide } from "../../api/client";
import type { Target } from "../../api/request";
import type { ReportData, Runs } from "../../api/schema";
import type { Base } from "./address";

/** The trace that a base names, filled up with defaults; or what of it does not exist. */
export function chooseBase(runs: Runs, base: Base): Choice | null {
  return chooseTrace(runs, { ...START, ...base }, null);
}

/** The side before; null where what the address names is not there. */
export function baseSide(choice: Choice | null, base: Base): CompareSide | null {
  if (choice?.found !== true) return null;
  return {
    run: choice.run.name,
    worker: choice.worker.name,
    trace: choice.trace.id,
    steps: base.steps,
  };
}

/** The side after: what the page shows; of a single step, or of a range chosen here. */
export function otherSide(target: Target, steps: readonly string[]): CompareSide {
  const { run, worker, trace, step } = target;
  return { run, worker, trace, steps: step === null ? steps : [step] };
}

/** All steps of the trace of a side. */
export function targetOf({ run, worker, trace }: CompareSide): Target {
  return { run, worker, trace, step: null };
}

/** The place at which before and after have changed places. */
export function swapped(place: Place, base: CompareSide, other: CompareSide): Partial<Place> {
  return {
    run: base.run,
    worker: base.worker,
    trace: base.trace,
    step: null,
    compare: { ...place.compare, base: { ...other }, steps: base.steps, row: null },
  };
}

/** What the trace on show might be held against. */
interface Suggestion {
  readonly base: Base;
  /** Steps of the trace on show that it is held against; none for all. */
  readonly steps: readonly string[];
  readonly kind: "earlier trace" | "worker" | "run" | "first steps";
  readonly name: string;
}

/** Suggestions of one kind, and which of them are named at first. */
export interface SuggestionGroup {
  readonly kind: Suggestion["kind"];
  readonly all: readonly Suggestion[];
  readonly first: readonly Suggestion[];
}

/** Of each kind this many are named at first; a single one more is named too. */
const FIRST = 5;

/** By kind, in the order of the suggestions. */
export function suggestionGroups(all: readonly Suggestion[]): SuggestionGroup[] {
  const kinds = [...new Set(all.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const those = all.filter((one) => one.kind === kind);
    return { kind, all: those, first: those.length <= FIRST + 1 ? those : those.slice(0, FIRST) };
  });
}

/** All bases, likely ones first: earlier traces, runs, older before newer, workers, first steps. */
export function suggestions(runs: Runs, target: Target, steps: readonly string[]): Suggestion[] {
  const run = runs.runs.find(({ name }) => name === target.run);
  const worker = run?.workers.find(({ name }) => name === target.worker);
  const shown = worker?.traces.find(({ id }) => id === target.trace);
  const modified = shown?.modified ?? 0;
  const earlier = (worker?.traces ?? [])
    .filter((trace) => trace.id !== target.trace && trace.modified <= modified)
    .sort((a, b) => b.modified - a.modified)
    .map((trace): Suggestion => ({
      base: { run: target.run, worker: target.worker, trace: trace.id, steps: [] },
      steps: [],
      kind: "earlier trace",
      name: new Date(trace.modified * 1000).toLocaleString(),
    }));
  const workers = (run?.workers ?? [])
    .filter(({ name, traces }) => name !== target.worker && traces.length > 0)
    .map(({ name }): Suggestion => ({
      base: { run: target.run, worker: name, trace: null, steps: [] },
      steps: [],
      kind: "worker",
      name,
    }));
  const others = otherRuns(runs, target, modified);
  return [...earlier, ...others, ...workers, ...firstSteps(target, steps)];
}

/** Runs older than the trace on show come first, the latest of them before all. */
function otherRuns(runs: Runs, target: Target, modified: number): Suggestion[] {
  const aged = runs.runs
    .filter(({ name }) => name !== target.run)
    .map(({ name, workers }) => {
      const filled = workers.filter(({ traces }) => traces.length > 0);
      const worker = filled.find((one) => one.name === target.worker) ?? filled[0];
      return {
        name,
        worker: worker?.name ?? null,
        age: modified - (worker?.traces[0]?.modified ?? 0),
      };
    })
    .filter(({ worker }) => worker !== null);
  const rank = ({ age }: { age: number }): number => (age >= 0 ? age : Number.MAX_VALUE / 2 - age);
  return aged
    .sort((a, b) => rank(a) - rank(b))
    .map(({ name, worker }) => ({
      base: { run: name, worker, trace: null, steps: [] },
      steps: [],
      kind: "run",
      name,
    }));
}

function firstSteps(target: Target, steps: readonly string[]): Suggestion[] {
  if (steps.length < 2) return [];
  const middle = Math.floor(steps.length / 2);
  const half = steps.slice(0, middle);
  return [
    {
      base: { run: target.run, worker: target.worker, trace: target.trace, steps: half },
      steps: steps.slice(middle),
      kind: "first steps",
      name: half.length === 1 ? "the first step" : `the first ${half.length} steps`,
    },
  ];
}

/** The names of a range of steps. */
export function stepRange(all: readonly string[], from: number, to: number): readonly string[] {
  const [first, last] = from <= to ? [from, to] : [to, from];
  return all.slice(first, last + 1);
}

/** What of two recordings differs, other than the training, so that their times are no like for like. */
export function setupDifferences(before: ReportData, after: ReportData): string[] {
  return Object.entries(SETUP).flatMap(([title, of]) => {
    const [was, is] = [of(before), of(after)];
    return was === null || is === null || was === is ? [] : [`${title} ${was} → ${is}`];
  });
}

/** Null where the trace does not say. */
const SETUP: Readonly<Record<string, (report: ReportData) => string | null>> = {
  device: ({ trace }) => named(trace.devices.map(({ name }) => name)),
  platform: ({ trace }) => named(trace.devices.map(({ kind }) => kind)),
  devices: ({ trace }) => (trace.devices.length === 0 ? "none" : String(trace.devices.length)),
  torch: ({ trace }) => trace.torch_version,
  ranks: ({ trace }) => (trace.world_size === null ? null : String(trace.world_size)),
  "memory recorded": ({ memory_peaks: peaks }) => (peaks.length > 0 ? "yes" : "no"),
  "shapes recorded": ({ modules }) =>
    modules.length === 0 ? null : modules.some(({ shapes }) => shapes.length > 0) ? "yes" : "no",
};

function named(names: readonly string[]): string | null {
  const known = [...new Set(names.filter((name) => name !== ""))];
  return known.length === 0 ? null : known.join(", ");
}
