import { Finding } from "../../api/fields";
import { define, defineField, type Definition } from "../../text/definitions";

/** Columns and figures of the list of findings. */
export const FINDING_DEFINITIONS = {
  severity: defineField("severity", Finding.severity),
  finding: define("finding", "What is wrong, and where."),
  picture: define("cost in the step", "What it costs, as a part of the mean step."),
  cost: define(
    "cost/step",
    "Device idle time attributed to the finding, plus device time of avoidable work; no idle time is attributed twice.",
    "us",
  ),
  gain: define(
    "saving/step",
    "How much shorter a step is in a replay without the cause; an estimate without the profiler and kernel loading (est.), where that differs by a tenth.",
    "us",
  ),
  share: define(
    "of step",
    "The cost as a share of the mean length of the measured steps: all but the first, which warms up, those that launched nothing, a last one that alone lacks a backward pass, and those at the end whose device work is missing.",
    "fraction",
  ),
  count: defineField("seen", Finding.count),
  findings: define("findings", "One for each rule and place where it holds.", "count"),
  step: define(
    "step",
    "Mean length of the measured steps: all but the first, which warms up, those that launched nothing, a last one that alone lacks a backward pass, and those at the end whose device work is missing.",
    "us",
  ),
  mostExpensive: define("most expensive", "The cost of the most expensive finding per step.", "us"),
} as const;

/** Columns of a finding's examples. */
export const EXAMPLE_DEFINITIONS = {
  start: define("start", "Its start, from the beginning of the trace.", "us"),
  length: define("length", "How long it took; none for an instant.", "us"),
} as const;

/** How surely the events prove a finding's cause. */
export const CONFIDENCE_DEFINITIONS = {
  high: define("high", "The events of the trace show this cause itself."),
  medium: define("medium", "The events fit this cause, but could have another."),
  low: define("low", "The events hint at this cause: measure with the fix and without."),
} as const;

/** What a confidence means; null for a word that this page does not know. */
export function confidenceDefinition(confidence: string): Definition | null {
  const known: Partial<Record<string, Definition>> = CONFIDENCE_DEFINITIONS;
  return known[confidence] ?? null;
}
