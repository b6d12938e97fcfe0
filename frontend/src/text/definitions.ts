/**
 * What every number means, in one sentence: the source of tooltips and of the last part of
 * docs/reference/definitions.md (`npm run definitions`).
 */

import type { Unit } from "./formats";

export interface Definition {
  readonly title: string;
  readonly text: string;
  /** What the number counts: how a column of it is copied and written out. */
  readonly unit?: Unit;
}

export function define(title: string, text: string, unit?: Unit): Definition {
  return unit === undefined ? { title, text } : { title, text, unit };
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
  return define(title, plain.charAt(0).toUpperCase() + plain.slice(1), field.unit);
}
