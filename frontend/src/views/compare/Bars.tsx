import type { ReactElement } from "react";

import type { WireComparison, WirePair } from "../../api/compare";
import { fromTo } from "./changes";
import { sideBars, worthAWord, type SideBars, type SidePart } from "./sideBars";
import { devicePlace, phasePlace } from "../../report/legend";
import { duration } from "../../text/formats";
import { DEVICE_COLOURS, PHASE_COLOURS } from "../../theme/colours";
import { Legend } from "../../parts/Legend";
import { StackedBar } from "../../components/StackedBar";

const HEIGHT = 14;

/** The mean step of both sides, one above the other: host, and device. */
export function Bars({ comparison }: { comparison: WireComparison }): ReactElement {
  const { phases, parts, longest } = sideBars(comparison);
  const step = comparison.step_us;
  return (
    <section className="steps-chart" aria-label="The mean step on both sides">
      <div className="steps-heads">
        <div>
          <h2>What the host does</h2>
          <Legend
            entries={worthAWord(phases, longest).map((part) => ({
              ...legendOf(part),
              colour: PHASE_COLOURS[part.key],
              to: phasePlace(part.key),
            }))}
          />
        </div>
        <div>
          <h2>
            What the device does <span className="muted">busy, and idle by cause</span>
          </h2>
          {parts === null ? (
            <p className="muted">A side holds no device work, so there is no device to compare.</p>
          ) : (
            <Legend
              entries={worthAWord(parts, longest).map((part) => ({
                ...legendOf(part),
                colour: DEVICE_COLOURS[part.key],
                to: devicePlace(part.key),
              }))}
            />
          )}
        </div>
      </div>
      <ol className="step-rows">
        {(["base", "other"] as const).map((side) => (
          <li key={side} className="step-row">
            <div className="side-bars">
              <span className="step-name">{side === "base" ? "before" : "after"}</span>
              <Side side={side} phases={phases} parts={null} longest={longest} />
              {parts !== null && <Side side={side} phases={null} parts={parts} longest={longest} />}
            </div>
            <span className="step-length">{duration(step[side])}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function legendOf(part: SidePart<string>): {
  key: string;
  definition: SidePart<string>["definition"];
  value: string;
  note: string;
} {
  const { key, definition, pair } = part;
  return { key, definition, value: fromTo(pair.base, pair.other), note: "" };
}

interface SideProps {
  side: keyof Pick<WirePair, "base" | "other">;
  phases: SideBars["phases"] | null;
  parts: SideBars["parts"];
  longest: number;
}

function Side({ side, phases, parts, longest }: SideProps): ReactElement {
  const told = [
    ...(phases ?? []).map((part) => ({ ...part, colour: PHASE_COLOURS[part.key] })),
    ...(parts ?? []).map((part) => ({ ...part, colour: DEVICE_COLOURS[part.key] })),
  ];
  return (
    <StackedBar
      parts={told.map(({ key, pair, definition, colour }) => ({
        key,
        us: pair[side] ?? 0,
        colour,
        title: `${definition.title} ${duration(pair[side])}`,
      }))}
      whole={longest}
      height={HEIGHT}
    />
  );
}
