import { expect, test } from "vitest";

import type { Pipeline, RunOverview, StageWork, Straggler } from "../api/schema";
import { pipelineText, stageText, stragglersText } from "./stragglers";

const FIRST = {
  id: 0,
  rank: 1,
  module: "blocks.1",
  reason: "module",
  wait_caused_us: 10_000,
  left_step_us: 14_000,
  sure: true,
} as Straggler;
const NEXT = { ...FIRST, id: 1, rank: 2, left_step_us: 6000 };

const SENTENCE = "Rank 1 may be a straggler";

function text(stragglers: Straggler[], marked = true): string {
  return stragglersText({ stragglers, marked, step_us: 18_000, sentence: SENTENCE } as RunOverview);
}

test("the sentence names the first straggler, those that are next, and the step that is left", () => {
  expect(text([])).toBe(SENTENCE);
  expect(text([FIRST])).toBe(
    "Rank 1 is a straggler (in module blocks.1): the others wait 10.00 ms per step for it. " +
      "Without that a step takes 14.00 ms, not 18.00 ms (mean of all ranks).",
  );
  expect(text([{ ...FIRST, module: null, reason: "data" }, NEXT])).toBe(
    "Rank 1 is a straggler (on data loading): the others wait 10.00 ms per step for it. " +
      "Next: rank 2. Without these a step takes 6.00 ms, not 18.00 ms (mean of all ranks).",
  );
});

test("steps that are too few to rule out chance are said to be, a single one too", () => {
  const few = { ...FIRST, sure: false, steps: 2, of_steps: 2 };
  expect(text([{ ...few, of_steps: 1 }])).toContain(
    "Rank 1 may be a straggler (in module blocks.1): the others wait 10.00 ms per step for it, " +
      "in the only step that is compared. Without that",
  );
  expect(text([few])).toContain(
    "for it, in 2 of 2 steps, too few to rule out chance. Without that",
  );
});

test("traces that mark no steps are not spoken of as steps", () => {
  expect(text([FIRST], false)).toBe(
    "Rank 1 is a straggler (in module blocks.1): the others wait 10.00 ms in these traces for it. " +
      "Without that a trace takes 14.00 ms, not 18.00 ms (mean of all ranks).",
  );
});

test("a straggler whose reasons save next to nothing is said to be unexplained", () => {
  expect(text([{ ...FIRST, left_step_us: 17_990 }])).toBe(
    "Rank 1 is a straggler: the others wait 10.00 ms per step for it. Its trace does not show why.",
  );
});

test("a pipeline says its bubble, and the formula's where its microbatches are known", () => {
  const pipeline = {
    ranks: [0, 1],
    microbatches: 4,
    bubble: 0.3,
    ideal_bubble: 0.2,
  } as Pipeline;
  expect(pipelineText(pipeline)).toContain("2 ranks, 4 microbatches per step: 30.0% bubble; 20.0%");
  expect(pipelineText({ ...pipeline, microbatches: null, ideal_bubble: null })).toBe(
    "Pipeline of 2 ranks: 30.0% bubble.",
  );
});

test("a stage names its microbatches, and those of them all without numbers", () => {
  const work: StageWork = {
    stage: 2,
    direction: "backward",
    microbatches: [3],
    of_microbatches: 8,
    time_us: 12_000,
    usual_us: 1000,
  };
  expect(stageText(work)).toBe(
    "Stage 2, backward of microbatch 3 of 0 to 7: 12.00 ms, on the other stages 1.00 ms.",
  );
  expect(stageText({ ...work, microbatches: [0, 3] })).toContain("microbatches 0, 3 of 0 to 7");
  expect(stageText({ ...work, microbatches: [0, 1], of_microbatches: 2 })).toContain(
    "all 2 microbatches: 12.00 ms each,",
  );
});
