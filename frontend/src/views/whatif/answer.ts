import type { PathTime, ReportData, WhatIf } from "../../api/schema";
import type { PriceBasis } from "../../report/findings";
import { meanStep, otherLengths } from "../../report/measures";
import { PATH_PARTS, type PathPart } from "../../report/pathBar";
import { duration, percent } from "../../text/formats";
import { kindText, pathText } from "../../text/names";
import { ratio } from "../../text/numbers";

/** An answer that was not refused. */
export interface Prediction {
  readonly step: number;
  /** A step in the replay with nothing changed, with the change, and the bounds of that. */
  readonly before: number;
  readonly after: number;
  readonly low: number;
  readonly high: number;
  readonly parts: readonly PathRow[];
  /** What decides the length of a step, and its share. */
  readonly decides: { readonly part: PathPart; readonly share: number };
  /** How far the replay with nothing changed is off, as a share of the recorded step. */
  readonly error: number;
  readonly launchesKnown: number | null;
  readonly steps: number;
}

/** Time of the critical path that is of one part, before and after. */
export interface PathRow {
  readonly part: PathPart;
  readonly before: number;
  readonly after: number;
}

/** What an answer predicts; null where nothing was replayed. */
export function predictionOf(answer: WhatIf): Prediction | null {
  const { step_us, replayed_us, predicted_us, low_us, high_us } = answer;
  const { replayed_path, critical_path } = answer;
  if (step_us === null || replayed_us === null || predicted_us === null) return null;
  if (replayed_path === null || critical_path === null) return null;
  return {
    step: step_us,
    before: replayed_us,
    after: predicted_us,
    low: low_us ?? predicted_us,
    high: high_us ?? predicted_us,
    parts: PATH_PARTS.map((part) => ({
      part,
      before: replayed_path[part],
      after: critical_path[part],
    })),
    decides: largest(critical_path),
    error: ratio(Math.abs(replayed_us - step_us), step_us) ?? 0,
    launchesKnown: answer.launches_known,
    steps: answer.steps,
  };
}

function largest(path: PathTime): { part: PathPart; share: number } {
  const whole = timeOf(path);
  const part = PATH_PARTS.reduce((most, one) => (path[one] > path[most] ? one : most));
  return { part, share: ratio(path[part], whole) ?? 0 };
}

/** What the full width of the bars stands for. */
export function wholeOf({ before, after, high }: Prediction): number {
  return Math.max(before, after, high);
}

/** The answer as a sentence. */
export function answerText(
  { before, after, low, high }: Prediction,
  changed: boolean,
  per: PriceBasis["per"],
): string {
  if (!changed) {
    return `${whatOf(per === "per step")} takes ${duration(before)} in a replay with nothing changed.`;
  }
  const [least, most] = [duration(low), duration(high)];
  const bounds = least === most ? "both bounds agree" : `between ${least} and ${most}`;
  return `Was ${duration(before)} ${per}, would be ${duration(after)} (${bounds}).`;
}

function whatOf(marked: boolean): string {
  return marked ? "A step" : "This trace";
}

/** Why a step of the replay is longer than the step of the other views; null where it is not. */
export function hostClockText(report: ReportData): string | null {
  const others = otherLengths(report).map(({ us, what }) => `and ${duration(us)} ${what}`);
  if (others.length === 0) return null;
  const host = `${duration(meanStep(report))} on the host's clock`;
  return `${whatOf(report.per_step.marked)} takes ${[host, ...others].join(", ")}.`;
}

/** How much shorter a step is, with its share. */
export function gainText({ before, after }: Prediction): string {
  const gain = before - after;
  const share = ratio(Math.abs(gain), before);
  if (Math.abs(gain) < UNCHANGED * before) return "no change";
  return `${duration(Math.abs(gain))} ${gain > 0 ? "less" : "more"} (${percent(share)})`;
}

/** A difference of less than this share of a step is none. */
const UNCHANGED = 0.0005;

/** A module or a kind: its time on the critical path of the predicted step, and its slack. */
export interface SlackRow {
  readonly name: string;
  readonly path: number;
  /** null where nothing waits for it. */
  readonly slack: number | null;
}

/** Modules of an answer, in its order. */
export function moduleRows(answer: WhatIf): SlackRow[] {
  return (answer.path_modules ?? []).map(({ module, path, slack_us: slack }) => ({
    name: module === null ? "not in a module" : pathText(module),
    path: timeOf(path),
    slack,
  }));
}

/** Modules that an answer does not list; null where there are none. */
export function moduleRest(answer: WhatIf): { modules: number; path: number } | null {
  const { path_modules_left_out: modules, path_modules_rest: rest } = answer;
  return modules === null || modules === 0 || rest === null
    ? null
    : { modules, path: timeOf(rest) };
}

/** Kinds of device events of an answer, in its order. */
export function kindRows(answer: WhatIf): SlackRow[] {
  return (answer.path_kinds ?? []).map(({ kind, path_us: path, slack_us: slack }) => ({
    name: kindText(kind),
    path,
    slack,
  }));
}

function timeOf(path: PathTime): number {
  return PATH_PARTS.reduce((sum, part) => sum + path[part], 0);
}
