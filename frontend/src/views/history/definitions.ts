import { HistoryPoints, SlowRank, SlowSteps, WatchedRank } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Steps of a watched training run. */
export const HISTORY_DEFINITIONS = {
  step: define(
    "step",
    "Median duration of the measured steps, by rank, and the median of these.",
    "us",
  ),
  steps: define("steps", "First and last step in the files of the run."),
  slow: define(
    "slow steps",
    "Steps above 1.3 times the median of the 101 steps before them that were not slow, and beyond five times their spread, and all steps while their length has risen by a fifth or more for some 30 steps. Recorded steps are left out.",
    "count",
  ),
  slowAt: define(
    "steps",
    "The first and the last of them; or since which step, where steps stayed longer to the end.",
  ),
  excess: defineField("time lost", SlowSteps.excess_us),
  median: defineField("median before", SlowSteps.median_us),
  slowStep: defineField("step", SlowSteps.step_us),
  causes: defineField("what took longer", SlowSteps.causes),
  recording: defineField("nearest recording", SlowSteps.recording_id),
  memory: defineField("peak memory", WatchedRank.memory_bytes),
  slowRank: defineField("longer by", SlowRank.excess_us),
} as const;

/** Parts of a step. */
export const PART_DEFINITIONS = {
  data: defineField("loader", WatchedRank.data_us),
  forward: defineField("forward", WatchedRank.forward_us),
  backward: defineField("backward", WatchedRank.backward_us),
  after_backward: defineField("gradient reduction", WatchedRank.after_backward_us),
  optimizer: defineField("optimizer", WatchedRank.optimizer_us),
  other: define("other", "The rest of the step: host code that is in no other part.", "us"),
  "garbage collection": defineField("garbage collection", WatchedRank.gc_us),
} as const;

/** What the curve shows. */
export const CURVE_DEFINITIONS = {
  median: define("median", "Median step of all ranks in this part of the run.", "us"),
  range: define("shortest to longest", "Range of all steps of all ranks in this part.", "us"),
  rank: defineField("by rank", HistoryPoints.ranks),
} as const;
