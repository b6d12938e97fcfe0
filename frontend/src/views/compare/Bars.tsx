import type { ReactElement } from "react";

import { devicePlace, phasePlace } from "../../address/links";
import type { Comparison, Pair } from "../../api/schema";
import { StackedBar } from "../../components/charts";
import { Legend } from "../../parts/PlaceLink";
import {
  DEVICE_PARTS,
  DEVICE_TIME_DEFINITIONS,
  HOST_PHASE_DEFINITIONS,
  PHASES,
  type DevicePart,
  type Phase,
} from "../../report/stepBars";
import type { Definition } from "../../text/definitions";
import { duration } from "../../text/formats";
import { DEVICE_COLOURS, PHASE_COLOURS } from "../../theme/colours";
import { fromTo } from "./changes";
import { isPerStep } from "./definitions";

const HEIGHT = 14;

/** The mean step of both sides, one above the other: host, and device. */
export function Bars({ comparison }: { comparison: Comparison }): ReactElement {
  const { phases, parts, longest } = sideBars(comparison);
  const { step_us: step, device_busy_us: busy } = comparison;
  const of = isPerStep(comparison) ? "mean step" : "whole trace";
  const neither = busy.base === null && busy.other === null;
  return (
    <section className="steps-chart" aria-label={`The ${of} on both sides`}>
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
            <p className="muted">
              {neither ? "Neither side has" : "One side has no"} device events, so devices cannot be
              compared.
            </p>
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
  side: keyof Pick<Pair, "base" | "other">;
  phases: SideBars["phases"] | null;
  parts: SideBars["parts"];
  longest: number;
}

function Side({ side, phases, parts, longest }: SideProps): ReactElement {
  const known = [
    ...(phases ?? []).map((part) => ({ ...part, colour: PHASE_COLOURS[part.key] })),
    ...(parts ?? []).map((part) => ({ ...part, colour: DEVICE_COLOURS[part.key] })),
  ];
  return (
    <StackedBar
      parts={known.map(({ key, pair, definition, colour }) => ({
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

/** A part of the mean step on both sides. */
interface SidePart<Key extends string> {
  readonly key: Key;
  readonly definition: Definition;
  readonly pair: Pair;
}

interface SideBars {
  readonly phases: readonly SidePart<Phase>[];
  /** null where a side does not hold what its device did. */
  readonly parts: readonly SidePart<DevicePart>[] | null;
  /** What the full width of a bar stands for, microseconds. */
  readonly longest: number;
}

const NOTHING: Pair = { base: 0, other: 0, change: 0 };

/** The mean step of both sides as parts; what neither side has is left out. */
export function sideBars(comparison: Comparison): SideBars {
  const { step_us: step, phases_us: phases, idle_us: idle, device_busy_us: busy } = comparison;
  const device = (key: DevicePart): Pair => (key === "busy" ? busy : (idle[key] ?? NOTHING));
  const parts = DEVICE_PARTS.map((key) => ({
    key,
    definition: DEVICE_TIME_DEFINITIONS[key],
    pair: device(key),
  }));
  const known = busy.change !== null && parts.every(({ pair }) => pair.change !== null);
  const sum = (side: "base" | "other"): number =>
    known ? parts.reduce((all, { pair }) => all + (pair[side] ?? 0), 0) : 0;
  return {
    phases: PHASES.map((key) => ({
      key,
      definition: HOST_PHASE_DEFINITIONS[key],
      pair: phases[key] ?? NOTHING,
    })).filter(isThere),
    parts: known ? parts.filter(isThere) : null,
    longest: Math.max(step.base ?? 0, step.other ?? 0, sum("base"), sum("other")),
  };
}

function isThere({ pair }: { pair: Pair }): boolean {
  return (pair.base ?? 0) > 0 || (pair.other ?? 0) > 0;
}

/** Less than this share of a step on both sides is in the tooltips of the bars alone. */
const LEAST_SHARE = 0.001;

/** What is large enough to be named in a legend. */
export function worthAWord<Key extends string>(
  parts: readonly SidePart<Key>[],
  longest: number,
): SidePart<Key>[] {
  return parts.filter(
    ({ pair }) => Math.max(pair.base ?? 0, pair.other ?? 0) >= LEAST_SHARE * longest,
  );
}
