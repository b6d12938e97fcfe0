import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Segments } from "../../components/controls";
import { usePlace } from "../../parts/services";
import type { Measure } from "../../report/measures";
import { GROUPINGS, QUANTITIES, type Grouping } from "./address";
import { timeDefinitions } from "./definitions";
import { clocksOf, holds, type ChosenQuantity } from "./quantity";

const GROUP_TITLES: Readonly<Record<Grouping, string>> = {
  instance: "One row for each module, below the module that holds it.",
  class: "One row for each class of modules, its instances below.",
  depth: "One row for each level of the tree, with its modules as children.",
};

const CLOCKS: Readonly<Record<Measure, string>> = {
  device: "Time of the device's work.",
  host: "Time of the host's work.",
};

/** What is shown: which part of the work, whose time, in which groups, next to what. */
export function QuantityPicker({
  report,
  chosen,
}: {
  report: ReportData;
  chosen: ChosenQuantity;
}): ReactElement {
  const [place, go] = usePlace();
  const clocks = clocksOf(report, chosen.quantity);
  return (
    <div className="quantities">
      <Segments
        label="Measure"
        toned
        segments={QUANTITIES.map((value) => ({
          value,
          title: value,
          tooltip: holds(report, value)
            ? timeDefinitions({
                ...chosen,
                quantity: value,
                clock: clocksOf(report, value)[0] ?? "host",
              }).total.text
            : `This trace holds no ${value} of modules.`,
          disabled: !holds(report, value) && value !== chosen.quantity,
        }))}
        chosen={chosen.quantity}
        onChoose={(quantity) => go({ quantity })}
      />
      <Segments
        label="Time of"
        segments={(["device", "host"] as const).map((value) => ({
          value,
          title: value,
          tooltip: CLOCKS[value],
          disabled: !clocks.includes(value),
        }))}
        chosen={chosen.clock}
        onChoose={(clock) => go({ clock })}
      />
      <Segments
        label="Group by"
        segments={GROUPINGS.map((value) => ({ value, title: value, tooltip: GROUP_TITLES[value] }))}
        chosen={place.group}
        onChoose={(group) => go({ group, zoom: null, picked: null })}
      />
      {chosen.quantity !== "forward" && (
        <label className="check" title="Each row's forward, drawn to the same scale.">
          <input
            type="checkbox"
            checked={place.withForward}
            onChange={(event) => go({ withForward: event.target.checked }, true)}
          />
          show forward
        </label>
      )}
    </div>
  );
}
