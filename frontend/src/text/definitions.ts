/**
 * What every number means, in one sentence: the source of tooltips and of the last part of
 * docs/reference/definitions.md (`npm run definitions`).
 */

import type { Unit } from "./formats";
import { capitalized } from "./names";

export interface Definition {
  readonly title: string;
  readonly text: string;
  /** What the number counts: how a column of it is copied and written out. */
  readonly unit?: Unit;
}

export function define(title: string, text: string, unit?: Unit): Definition {
  return unit === undefined ? { title, text } : { title, text, unit };
}

/** Words of means over steps, and what they are where a trace marks none: it is the one step. */
const OF_TRACE: readonly (readonly [RegExp, string])[] = [
  [/: all but the first, which warms up[^.]*/g, ""],
  [/\bMean length\b/g, "Length"],
  [/\bmean length\b/g, "length"],
  [/\bMean per step\b/g, "Sum over the trace"],
  [/\bmean over the measured steps\b/g, "sum over the trace"],
  [/\bper (measured )?step\b/g, "in this trace"],
  [/\/step\b/g, ""],
  [/\b([Tt]he) (measured |selected |compared )?steps\b/g, "$1 trace"],
  [/\b(a|the|each) (mean )?step\b/g, "the trace"],
  [/\bA step\b/g, "The trace"],
  [/\b(Mean step|Steps?)\b/g, "Trace"],
  [/\bstep\b/g, "trace"],
];

/** What our words on steps are of a trace that marks none. */
export function ofTrace(text: string): string {
  return OF_TRACE.reduce((words, [step, trace]) => words.replace(step, trace), text);
}

/** A docstring's text, whose names stand in backticks, as the page shows it. */
export function withoutBackticks(text: string): string {
  return text.replaceAll("`", "");
}

/** A definition in the words of the server, as `api/fields.ts` has them. */
export function defineField(
  title: string,
  field: { readonly text: string; readonly unit?: Unit },
): Definition {
  const plain = withoutBackticks(field.text);
  return define(title, capitalized(plain), field.unit);
}
