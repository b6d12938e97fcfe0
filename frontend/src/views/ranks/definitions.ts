import {
  Balance,
  Collective,
  CollectiveKind,
  CollectiveSize,
  Rank,
  RankStep,
  RunOverview,
  Straggler,
} from "../../api/fields";
import { define, defineField, type Definition } from "../../text/definitions";
import type { RankQuantity } from "./address";

/** Figures and tables of the view of ranks. */
export const RANK_DEFINITIONS = {
  rank: define("rank", "Number of the rank, as its trace says.", "count"),
  steps: defineField("steps", Rank.steps),
  step: defineField("step", Rank.step_us),
  length: define(
    "length",
    "Duration of the trace, which marks no steps, by the slower of host and device.",
    "us",
  ),
  compute: defineField("compute", Rank.compute_us),
  communication: defineField("communication", Rank.communication_us),
  exposed: defineField("exposed", Rank.exposed_communication_us),
  idle: defineField("idle", Rank.idle_us),
  wait: defineField("straggler wait", Rank.wait_us),
  duration: defineField("step", RankStep.duration_us),
  path: define("trace", "The file that was read."),
  ranks: define("ranks", "Ranks of this run whose traces were read, out of those expected."),
  meanStep: defineField("step", RunOverview.step_us),
  meanLength: define("length", "Mean duration of a trace over the ranks.", "us"),
  meanWait: defineField("straggler wait", RunOverview.wait_us),
  late: define("stragglers", "Ranks for which the others wait in most steps."),
  clocks: defineField("clock spread", RunOverview.clock_spread_us),
  caused: defineField("others wait", Straggler.wait_caused_us),
  gain: defineField("saving/step", Straggler.gain_us_per_step),
} as const;

/** What the heat map shows. */
export const HEAT_DEFINITIONS: Readonly<Record<RankQuantity, Definition>> = {
  wait: RANK_DEFINITIONS.wait,
  compute: RANK_DEFINITIONS.compute,
  communication: RANK_DEFINITIONS.communication,
  exposed: RANK_DEFINITIONS.exposed,
  idle: RANK_DEFINITIONS.idle,
};

const sequence = defineField("number", Collective.sequence);
const lateRank = defineField("straggler", Collective.late_rank);

/** Collectives between the ranks. */
export const COLLECTIVE_DEFINITIONS = {
  name: define("collective", "Kind of the collective."),
  group: defineField("group", Collective.group),
  sequence: define("number", sequence.text, "count"),
  step: defineField("step", Collective.step),
  bytes: defineField("bytes", Collective.bytes),
  ranks: defineField("ranks", Collective.ranks),
  transfer: defineField("transfer", Collective.transfer_us),
  wait: defineField("wait", Collective.wait_us),
  newWait: defineField("new wait", Collective.new_wait_us),
  lateRank: define("straggler", lateRank.text, "count"),
  lateModule: defineField("straggler's module", Collective.late_module),
  lateReason: defineField("reason", Collective.late_reason),
  lateBy: defineField("late by", Collective.late_by_us),
  bandwidth: define(
    "GB/s",
    "Bytes over transfer time by the factor of nccl-tests for its kind, 10^9 bytes per second.",
    "GB/s",
  ),
  count: defineField("count", CollectiveKind.count),
  medianTransfer: defineField("transfer", CollectiveSize.transfer_us),
  medianBandwidth: defineField("bus bandwidth", CollectiveSize.bus_gb_per_s),
  fastest: defineField("fastest", CollectiveSize.max_bus_gb_per_s),
} as const;

/** Balance of process groups. */
export const BALANCE_DEFINITIONS = {
  place: define("place", "Place of a rank in its group: of a pipeline its stage."),
  ranks: defineField("ranks", Balance.ranks),
} as const;
