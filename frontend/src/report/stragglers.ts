import type { Pipeline, RunOverview, StageWork, Straggler } from "../api/schema";
import { count, duration, percent } from "../text/formats";
import { pathText } from "../text/names";

/** What a straggler spends time on where it is no module. */
export const REASONS: Readonly<Record<string, string>> = {
  data: "on data loading",
  optimizer: "in the optimizer",
  sync: "waiting for its device",
  host: "on its host, not in a module",
  device: "on its device, not in a module",
};

/** What a run calls one step, and what its times are of: of traces that mark no steps, each trace. */
export function stepWords(run: Pick<RunOverview, "marked">): { whole: string; per: string } {
  return run.marked
    ? { whole: "step", per: "per step" }
    : { whole: "trace", per: "in these traces" };
}

/** A pipeline's bubble, and that of even stages. */
export function pipelineText(
  { ranks, microbatches, bubble, ideal_bubble }: Pipeline,
  per = "per step",
): string {
  const of = microbatches === null ? "" : `, ${count(microbatches)} microbatches ${per}`;
  const ideal =
    ideal_bubble === null
      ? ""
      : `; ${percent(ideal_bubble)} by (p \u2212 1) / (m + p \u2212 1) with even stages`;
  return `Pipeline of ${ranks.length} ranks${of}: ${percent(bubble)} bubble${ideal}.`;
}

/** Which microbatches a stage is slow on, and by how much. */
export function stageText(work: StageWork): string {
  const { microbatches, of_microbatches } = work;
  const many = microbatches.length > 1;
  const all = many && microbatches.length === of_microbatches;
  const listed = `${many ? "microbatches" : "microbatch"} ${microbatches.join(", ")} of 0 to ${of_microbatches - 1}`;
  const named = all ? `all ${count(of_microbatches)} microbatches` : listed;
  return (
    `Stage ${work.stage}, ${work.direction} of ${named}: ${duration(work.time_us)}` +
    `${many ? " each" : ""}, on the other stages ${duration(work.usual_us)}.`
  );
}

/** Reasons whose end saves less than this share of the step explain nothing. */
const EXPLAINS = 0.01;

/** That a rank is a straggler; in few steps it may be chance. */
export function isOne({ sure }: Straggler): string {
  return sure ? "is a straggler" : "may be a straggler";
}

/** In how many of the steps it is late, after a comma. */
export function oftenText({ marked }: RunOverview, late: Straggler): string {
  if (!marked) return "";
  if (late.of_steps === 1) return ", in the only step that is compared";
  const few = late.sure ? "" : ", too few to rule out chance";
  return `, in ${late.steps} of ${late.of_steps} steps${few}`;
}

/** All stragglers in a sentence; without any what the run's own sentence says. */
export function stragglersText(run: RunOverview): string {
  const { stragglers, step_us } = run;
  const { whole, per } = stepWords(run);
  const [first, ...rest] = stragglers;
  if (first === undefined) return run.sentence;
  const often = first.sure ? "" : oftenText(run, first);
  const waits = `the others wait ${duration(first.wait_caused_us)} ${per} for it${often}`;
  const next = rest.length === 0 ? "" : ` Next: rank ${rest.map(({ rank }) => rank).join(", ")}.`;
  const left = stragglers[stragglers.length - 1]?.left_step_us ?? null;
  if (left === null || step_us === null || left > (1 - EXPLAINS) * step_us) {
    return `Rank ${first.rank} ${isOne(first)}: ${waits}. Its trace does not show why.${next}`;
  }
  const where =
    first.module !== null
      ? `in module ${pathText(first.module)}`
      : (REASONS[first.reason ?? ""] ?? "for unknown reasons");
  return (
    `Rank ${first.rank} ${isOne(first)} (${where}): ${waits}.${next} Without ` +
    `${rest.length === 0 ? "that" : "these"} a ${whole} takes ${duration(left)}, not ${duration(step_us)} ` +
    "(mean of all ranks)."
  );
}
