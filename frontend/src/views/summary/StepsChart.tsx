import { useMemo, type ReactElement } from "react";

import { devicePlace, inTimeline, phasePlace } from "../../address/links";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { StackedBar } from "../../components/charts";
import { useWords } from "../../components/words";
import { Legend, PlaceLink } from "../../parts/PlaceLink";
import { usePlace } from "../../parts/services";
import { meansNote } from "../../report/measures";
import {
  partsText,
  stepBars,
  labelledDevice,
  labelledPhases,
  worthAWord,
  type StepBars,
  type LabelledPart,
} from "../../report/stepBars";
import { counted, duration, percent } from "../../text/formats";
import { capitalized, stepLabel, stepTitle } from "../../text/names";
import { DEVICE_COLOURS, PHASE_COLOURS } from "../../theme/colours";

const HEIGHT = 14;
/** Steps drawn; a trace of thousands would only be slow. */
const MOST_ROWS = 200;

/** Every step twice: what the host does, and what the device does. A step can be chosen. */
export function StepsChart({ whole }: { whole: ReportData }): ReactElement | null {
  const [place] = usePlace();
  const words = useWords();
  const bars = useMemo(() => stepBars(whole), [whole]);
  const longest = bars.reduce((most, bar) => Math.max(most, bar.duration), 0);
  const drawn = bars.filter(({ name }, at) => at < MOST_ROWS || name === place.step);
  const shown = bars.find(({ name }) => name === place.step) ?? bars[0];
  if (shown === undefined) return null;
  return (
    <section className="steps-chart" aria-label="Host and device time">
      <div className="steps-heads">
        <HostHead bar={shown} means={meansNote(whole)} />
        <DeviceHead bar={shown} />
      </div>
      <ol className="step-rows" tabIndex={0} aria-label={words("Time of each step")}>
        {drawn.map((bar) => (
          <StepRow key={bar.id ?? "mean"} report={whole} bar={bar} longest={longest} />
        ))}
      </ol>
      {drawn.length < bars.length && (
        <p className="muted">
          {counted(bars.length - drawn.length, "more step")}: in the mean, in the timeline, and in
          the choice of steps above.
        </p>
      )}
    </section>
  );
}

function HostHead({ bar, means }: { bar: StepBars; means: string }): ReactElement {
  const entries = worthAWord(labelledPhases(bar.host)).map((part) => ({
    ...part,
    value: duration(part.us),
    note: percent(part.share),
    colour: PHASE_COLOURS[part.key],
    to: phasePlace(part.key),
  }));
  return (
    <div>
      <h2>
        What the host does <span className="muted">{ofWhat(bar, means)}</span>
      </h2>
      <Legend entries={entries} />
    </div>
  );
}

function DeviceHead({ bar }: { bar: StepBars }): ReactElement {
  if (bar.device === null) {
    return (
      <div>
        <h2>What the device does</h2>
        <p className="muted">
          This trace holds no device events, so there is no busy and idle time to show.
        </p>
      </div>
    );
  }
  const entries = worthAWord(labelledDevice(bar.device)).map((part) => ({
    ...part,
    value: duration(part.us),
    note: percent(part.share),
    colour: DEVICE_COLOURS[part.key],
    to: devicePlace(part.key),
  }));
  return (
    <div>
      <h2>
        What the device does <span className="muted">busy, and idle by cause</span>
      </h2>
      <Legend entries={entries} />
    </div>
  );
}

function ofWhat(bar: StepBars, means: string): string {
  return bar.name === null ? means : stepTitle(bar.name);
}

interface StepRowProps {
  report: ReportData;
  bar: StepBars;
  longest: number;
}

function StepRow({ report, bar, longest }: StepRowProps): ReactElement {
  const [place, go] = usePlace();
  const host = labelledPhases(bar.host).map((part) => ({
    ...part,
    colour: PHASE_COLOURS[part.key],
  }));
  const device = bar.device === null ? null : labelledDevice(bar.device);
  const chosen = place.step === bar.name;
  return (
    <li className={chosen ? "step-row chosen" : "step-row"}>
      <button
        type="button"
        aria-pressed={chosen}
        aria-label={rowText(bar, host, device)}
        onClick={() => go({ step: chosen ? null : bar.name })}
      >
        <Name text={stepLabel(bar.name)} className="step-name" />
        <StackedBar parts={host} whole={longest} height={HEIGHT} />
        {device !== null && (
          <StackedBar
            parts={device.map((part) => ({ ...part, colour: DEVICE_COLOURS[part.key] }))}
            whole={longest}
            height={HEIGHT}
          />
        )}
      </button>
      <StepLength report={report} bar={bar} />
    </li>
  );
}

function StepLength({ report, bar }: Omit<StepRowProps, "longest">): ReactElement {
  const words = useWords();
  const step = report.steps.find(({ name }) => name === bar.name);
  if (step === undefined) return <span className="step-length">{duration(bar.duration)}</span>;
  return (
    <PlaceLink
      to={inTimeline(report, step.start_us, step.duration_us)}
      className="step-length"
      title={words("Show the step in the timeline")}
    >
      {duration(bar.duration)}
    </PlaceLink>
  );
}

function rowText(
  bar: StepBars,
  host: readonly LabelledPart<string>[],
  device: readonly LabelledPart<string>[] | null,
): string {
  const name = bar.name === null ? "Mean step" : capitalized(stepTitle(bar.name));
  const rest = device === null ? "" : `; device: ${partsText(device)}`;
  return `${name}, ${duration(bar.duration)}; host: ${partsText(host)}${rest}`;
}
