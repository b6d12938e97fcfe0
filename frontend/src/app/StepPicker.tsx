import type { ReactElement } from "react";

import type { WireStep } from "../api/types";
import { usePlace } from "../parts/context";
import { Picker } from "../components/Picker";

const ALL_MEAN = "mean";
const ALL_TOTAL = "total";
const ONE = "step:";

/** All steps averaged, all added up, or a single one. */
export function StepPicker({ steps }: { steps: readonly WireStep[] }): ReactElement {
  const [place, go] = usePlace();
  const all =
    steps.length === 1
      ? [{ value: ALL_MEAN, text: shortName(steps[0]?.name ?? "") }]
      : [
          { value: ALL_MEAN, text: `${range(steps)} (mean)` },
          { value: ALL_TOTAL, text: `${range(steps)} (total)` },
        ];
  const single = steps.map(({ name }) => ({ value: `${ONE}${name}`, text: shortName(name) }));
  const options = steps.length === 1 ? all : [...all, ...single];
  const fallback = steps.length > 1 && place.averaging === "total" ? ALL_TOTAL : ALL_MEAN;
  const chosen = place.step === null ? fallback : `${ONE}${place.step}`;
  return (
    <Picker
      label={steps.length === 1 ? "step" : "steps"}
      value={options.some(({ value }) => value === chosen) ? chosen : fallback}
      options={options}
      whole
      onChange={(value) => {
        if (value.startsWith(ONE)) go({ step: value.slice(ONE.length), averaging: "mean" });
        else go({ step: null, averaging: value === ALL_TOTAL ? "total" : "mean" });
      }}
    />
  );
}

function shortName(name: string): string {
  return name.replace(/^ProfilerStep#/, "");
}

/** "5–7" where the steps are consecutive numbers, else how many there are. */
function range(steps: readonly WireStep[]): string {
  const numbers = steps.map(({ name }) => Number(shortName(name)));
  const first = numbers[0] ?? Number.NaN;
  const consecutive = numbers.every((n, index) => n === first + index);
  return consecutive ? `${first}–${first + steps.length - 1}` : `all ${steps.length}`;
}
