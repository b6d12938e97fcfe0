import { useState, type ReactElement } from "react";

import type { History } from "../../api/schema";
import { Segments } from "../../components/controls";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { count, duration } from "../../text/formats";
import { colourOf, type Palette } from "../../theme/colours";
import { PART_DEFINITIONS } from "./definitions";
import { areaPath, layers, LEFT, middles, WIDTH, type Layer } from "./model";

const [HEIGHT, TOP, BOTTOM] = [190, 8, 8];

const CHOICES = [
  { value: "parts", title: "Parts of the step" },
  { value: "forward", title: "Forward by block" },
  { value: "backward", title: "Backward by block" },
] as const;
type Choice = (typeof CHOICES)[number]["value"];

const COLOURS: Readonly<Record<keyof typeof PART_DEFINITIONS, keyof Palette>> = {
  data: "data",
  forward: "forward",
  backward: "backward",
  after_backward: "communication",
  optimizer: "optimizer",
  other: "other",
  "garbage collection": "idleAllocator",
};

/** What the length of the step consists of, over the whole training. */
export function PartCurve({ history }: { history: History }): ReactElement {
  const [choice, choose] = useState<Choice>("parts");
  // Collections happen inside of the other parts.
  const parts = Object.fromEntries(
    Object.entries(history.points.parts).filter(([name]) => name !== "garbage collection"),
  );
  const shown = layers(choice === "parts" ? parts : history.points[choice]);
  const top = shown.at(-1)?.high ?? [];
  const sorted = top.map((us) => us ?? 0).sort((a, b) => a - b);
  const most = 1.15 * Math.max(1, sorted[Math.floor(sorted.length * 0.98)] ?? 1);
  const y = (us: number): number =>
    HEIGHT - BOTTOM - (Math.min(us, most) / most) * (HEIGHT - BOTTOM - TOP);
  const x = middles(history.points);
  const colour = colours(choice, shown);
  return (
    <section className="facet" aria-label="Parts of the step">
      <h2>
        What a step consists of{" "}
        <span className="muted">mean over ranks, up to {duration(most)}</span>
      </h2>
      <Segments label="Parts" segments={CHOICES} chosen={choice} onChoose={choose} />
      <TimedSteps history={history} choice={choice} />
      {shown.length === 0 ? (
        <p className="muted">No block was timed: pass the model to hookview.watch.</p>
      ) : (
        <svg
          className="history-chart"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          role="img"
          aria-label={`What a step consists of: ${shown.map(({ name }) => name).join(", ")}`}
        >
          <line x1={LEFT} x2={WIDTH} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
          {shown.map((layer, at) => (
            <path
              key={layer.name}
              d={areaPath(x, layer.low, layer.high, y)}
              style={{ fill: colour[at] }}
            >
              <title>{layer.name}</title>
            </path>
          ))}
        </svg>
      )}
      <Key layers={shown} colours={colour} />
    </section>
  );
}

/** In how many steps phases or blocks were timed, where it was not all. */
function TimedSteps({
  history,
  choice,
}: {
  history: History;
  choice: Choice;
}): ReactElement | null {
  const sum = (of: "steps" | "phase_steps" | "block_steps"): number =>
    history.ranks.reduce((total, rank) => total + rank[of], 0);
  const [steps, timed] = [sum("steps"), sum(choice === "parts" ? "phase_steps" : "block_steps")];
  if (timed === 0 || timed === steps) return null;
  return (
    <p className="muted">
      {choice === "parts" ? "Forward, backward and optimizer" : "Blocks"} were timed in{" "}
      {count(timed)} of {count(steps)} steps.
    </p>
  );
}

/** Blocks are shades of their phase, lighter and darker by turns. */
function colours(choice: Choice, shown: readonly Layer[]): string[] {
  if (choice === "parts") {
    return shown.map(({ name }) =>
      colourOf(name in COLOURS ? COLOURS[name as keyof typeof COLOURS] : "other"),
    );
  }
  return shown.map(
    (_, at) =>
      `color-mix(in srgb, ${colourOf(choice)} ${at % 2 === 0 ? 85 : 45}%, ${colourOf("surface")})`,
  );
}

function Key({
  layers: shown,
  colours: colour,
}: {
  layers: readonly Layer[];
  colours: readonly string[];
}): ReactElement {
  return (
    <ul className="legend">
      {shown.map(({ name, values }, at) => {
        const definition = PART_DEFINITIONS[name as keyof typeof PART_DEFINITIONS] as
          (typeof PART_DEFINITIONS)["data"] | undefined;
        return (
          <li key={name}>
            <span className="swatch" style={{ background: colour[at] }} />
            {definition === undefined ? (
              <Name text={name} />
            ) : (
              <Term text={definition.text}>{definition.title}</Term>
            )}{" "}
            <span className="muted">
              {duration(typical(values.slice(0, Math.ceil(values.length / 4))))} →{" "}
              {duration(typical(values.slice(-Math.ceil(values.length / 4))))}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** The median of what is known. */
function typical(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)] ?? null;
}
