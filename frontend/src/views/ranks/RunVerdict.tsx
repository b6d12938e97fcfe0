import type { ReactElement } from "react";

import type { RunOverview } from "../../api/schema";
import { Band, type BandBlock, type BandSaving, WORTH_SAYING } from "../../parts/Band";
import { stepWords } from "../../report/stragglers";
import { ratio } from "../../text/numbers";
import type { Palette } from "../../theme/colours";
import { findingsOf, moduleOf } from "./links";

/** What holds up the run, and how the ranks spend a step. */
export function RunVerdict({ run }: { run: RunOverview }): ReactElement {
  return (
    <Band
      sentence={run.sentence}
      saving={savingOf(run)}
      barOf={`${run.marked ? "Step" : "Trace"}, mean over ranks`}
      heads={[{ key: "mean", text: "mean over ranks", share: 1 }]}
      blocks={blocksOf(run)}
    />
  );
}

function blocksOf(run: RunOverview): BandBlock[] {
  const parts: readonly [string, number | null, keyof Palette][] = [
    ["compute", run.compute_us, "busy"],
    ["exposed communication", run.exposed_communication_us, "communication"],
    ["idle", run.idle_us, "idle"],
  ];
  const whole = parts.reduce((sum, [, us]) => sum + (us ?? 0), 0);
  return parts.flatMap(([label, us, colour]) => {
    if (us === null || us <= 0) return [];
    const share = ratio(us, whole) ?? 0;
    const place = { view: "ranks", search: "", sort: null } as const;
    return [{ key: label, label, text: label, us, share, colour, place }];
  });
}

/** A step without the excess of the first straggler. */
function savingOf(run: RunOverview): BandSaving | null {
  const [first] = run.stragglers;
  if (first === undefined || run.step_us === null) return null;
  const gain = first.gain_us_per_step;
  if (gain < WORTH_SAYING * run.step_us) return null;
  const place = run.ranks.indexOf(first.rank);
  const { finding, module, rank } = first;
  return {
    from: run.step_us,
    to: run.step_us - gain,
    of: `${stepWords(run).per}, with rank ${rank} as fast as the others`,
    button: finding === null ? `Open rank ${rank}` : "Open its finding",
    title: finding ?? module ?? `rank ${rank}`,
    place: finding === null ? moduleOf(run, place, module ?? "") : findingsOf(run, place, finding),
  };
}
