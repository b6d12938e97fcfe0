import type { ReactElement } from "react";

import type { RunOverview, StepMatrix } from "../../api/schema";
import { Segments } from "../../components/controls";
import { Term } from "../../components/Tip";
import { ErrorCard } from "../../parts/states";
import { usePlace } from "../../parts/services";
import { count, duration } from "../../text/formats";
import { colourOf, type Palette } from "../../theme/colours";
import type { RunKey } from "../../parts/run";
import { RANK_QUANTITIES, type RankQuantity } from "./address";
import { HEAT_DEFINITIONS } from "./definitions";
import { scaleOf, shade, type Scale } from "./heat";
import { HeatMap, heightOf } from "./HeatMap";
import { useChangeRanks, useSteps } from "./useRun";

const COLOURS: Readonly<Record<RankQuantity, keyof Palette>> = {
  wait: "communication",
  compute: "busy",
  communication: "communication",
  exposed: "communication",
  idle: "idleUnknown",
};

interface HeatSectionProps {
  runKey: RunKey;
  run: RunOverview;
}

/** Steps by ranks as a heat map, with the choice of what it shows and its legend. */
export function HeatSection({ runKey, run }: HeatSectionProps): ReactElement {
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  const loaded = useSteps(runKey, place.heat, place.offset);
  if (loaded.status === "error") return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  const values = loaded.value?.values[place.heat] ?? [];
  const scale = scaleOf(values);
  const colour = COLOURS[place.heat];
  return (
    <section
      className="facet rank-heat-section"
      aria-label="Steps by ranks"
      aria-busy={loaded.status === "loading"}
    >
      <div className="toolbar">
        <h2>{run.marked ? "Steps by ranks" : "Ranks"}</h2>
        <Segments
          label="Show"
          segments={RANK_QUANTITIES.map((value) => ({
            value,
            title: HEAT_DEFINITIONS[value].title,
            tooltip: HEAT_DEFINITIONS[value].text,
          }))}
          chosen={place.heat}
          onChoose={(heat) => change({ heat })}
        />
        <span className="spring" />
        {scale !== null && <HeatLegend heat={place.heat} scale={scale} colour={colour} />}
      </div>
      {loaded.value === null && (
        <div className="rank-heat" style={{ height: heightOf(run.steps.length) }} />
      )}
      {loaded.value !== null && scale !== null && (
        <HeatMap run={run} steps={loaded.value} heat={place.heat} scale={scale} colour={colour} />
      )}
      {loaded.value !== null && <StepPages steps={loaded.value} />}
    </section>
  );
}

interface HeatLegendProps {
  heat: RankQuantity;
  scale: Scale;
  colour: keyof Palette;
}

/** What the palest and the deepest colour stand for. */
function HeatLegend({ heat, scale, colour }: HeatLegendProps): ReactElement {
  const at = (value: number): string =>
    `color-mix(in srgb, ${colourOf(colour)} ${shade(value, scale) * 100}%, var(--surface))`;
  return (
    <span className="rank-heat-legend">
      <Term text={HEAT_DEFINITIONS[heat].text}>{HEAT_DEFINITIONS[heat].title}</Term>
      {duration(scale.low)}
      <span
        className="rank-heat-bar"
        style={{ background: `linear-gradient(to right, ${at(scale.low)}, ${at(scale.high)})` }}
      />
      {duration(scale.high)}
    </span>
  );
}

/** Which steps these are, where a run has more than one answer holds. */
function StepPages({ steps }: { steps: StepMatrix }): ReactElement | null {
  const change = useChangeRanks();
  const { offset, left_out, steps: names } = steps;
  if (offset === 0 && left_out === 0) return null;
  const to = (label: string, target: number, possible: boolean): ReactElement => (
    <button
      type="button"
      disabled={!possible}
      onClick={() => change({ offset: Math.max(target, 0) })}
    >
      {label}
    </button>
  );
  return (
    <nav className="toolbar" aria-label="Further steps">
      {to("Earlier steps", offset - names.length, offset > 0)}
      <span role="status">
        {count(offset + 1)}–{count(offset + names.length)} of{" "}
        {count(offset + names.length + left_out)} steps
      </span>
      {to("Later steps", offset + names.length, left_out > 0)}
    </nav>
  );
}
