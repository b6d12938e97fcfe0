import { useState, type ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { clip } from "../../text/formats";
import type { WhatIfPlace } from "./address";
import { choices, NAMED, scaled, type Named } from "./question";
import { useChangeQuestion } from "./useWhatIf";

const NAMED_TITLES: Readonly<Record<Named, string>> = {
  kind: "kind of kernel",
  module: "module",
  kernel: "kernel",
};

interface AddFactorProps {
  report: ReportData;
  place: WhatIfPlace;
}

/** What something added begins with: half of its time, so that it shows at once. */
const FIRST_FACTOR = 0.5;

/** A factor for something by its name. */
export function AddFactor({ report, place }: AddFactorProps): ReactElement {
  const change = useChangeQuestion();
  const [named, setNamed] = useState<Named>("kind");
  const [name, setName] = useState<string | null>(null);
  const taken = new Set(place.scale.map(({ what }) => what));
  const options = choices(report, named).filter((choice) => !taken.has(`${named}:${choice.name}`));
  const chosen = options.find((choice) => choice.name === name) ?? options[0];
  return (
    <div className="whatif-add">
      <select
        aria-label="What to add"
        value={named}
        onChange={(event) => {
          setNamed(NAMED.find((one) => one === event.target.value) ?? "kind");
          setName(null);
        }}
      >
        {NAMED.map((one) => (
          <option key={one} value={one}>
            {NAMED_TITLES[one]}
          </option>
        ))}
      </select>
      <select
        aria-label={`Which ${NAMED_TITLES[named]}`}
        disabled={chosen === undefined}
        value={chosen?.name ?? ""}
        onChange={(event) => setName(event.target.value)}
      >
        {chosen === undefined && <option value="">none in these steps</option>}
        {options.map((choice) => (
          <option key={choice.name} value={choice.name}>
            {clip(choice.text, 110)}
          </option>
        ))}
      </select>
      <button
        type="button"
        disabled={chosen === undefined}
        onClick={() => {
          if (chosen === undefined) return;
          change((now) => scaled(now, `${named}:${chosen.name}`, FIRST_FACTOR));
          setName(null);
        }}
      >
        Add
      </button>
    </div>
  );
}
