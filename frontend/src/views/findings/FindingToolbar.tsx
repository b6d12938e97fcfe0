import type { ReactElement } from "react";

import { PlaceFilter, PlaceSearch } from "../../parts/placeControls";
import { tallyOf } from "../../report/syncs";
import { pathText } from "../../text/names";
import { type FindingRow, OUTSIDE } from "./findings";

interface FindingToolbarProps {
  rows: readonly FindingRow[];
  fitting: number;
  filtered: boolean;
}

export function FindingToolbar({ rows, fitting, filtered }: FindingToolbarProps): ReactElement {
  const phases = tallyOf(rows.flatMap((row) => row.phases));
  return (
    <div className="toolbar">
      <PlaceSearch
        label="Search findings"
        found={filtered ? `${fitting} of ${rows.length}` : null}
      />
      <PlaceFilter of="severity" options={tallyOf(rows.map(({ finding }) => finding.severity))} />
      <PlaceFilter
        of="confidence"
        options={tallyOf(rows.map(({ finding }) => finding.confidence))}
      />
      <PlaceFilter of="rule" options={tallyOf(rows.map(({ finding }) => finding.rule))} />
      <PlaceFilter
        of="about"
        label="module"
        options={tallyOf(rows.map(({ finding }) => finding.module ?? OUTSIDE))}
        text={(module) => (module === OUTSIDE ? "no one module" : pathText(module))}
      />
      {phases.length > 0 && <PlaceFilter of="phase" label="syncs in phase" options={phases} />}
    </div>
  );
}
