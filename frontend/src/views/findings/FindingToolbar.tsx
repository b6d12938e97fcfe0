import type { ReactElement } from "react";

import { FilterSelect, SearchBox } from "../../components/controls";
import { usePlace } from "../../parts/services";
import { tallyOf } from "../../report/syncs";
import { pathText } from "../../text/names";
import { OUTSIDE, type FindingRow } from "./findings";

interface FindingToolbarProps {
  rows: readonly FindingRow[];
  fitting: number;
  filtered: boolean;
}

export function FindingToolbar({ rows, fitting, filtered }: FindingToolbarProps): ReactElement {
  const [place, go] = usePlace();
  const phases = tallyOf(rows.flatMap((row) => row.phases));
  return (
    <div className="toolbar">
      <SearchBox
        label="Search findings"
        text={place.search}
        onText={(search) => go({ search }, true)}
        found={filtered ? `${fitting} of ${rows.length}` : null}
      />
      <FilterSelect
        label="severity"
        value={place.severity}
        options={tallyOf(rows.map(({ finding }) => finding.severity))}
        onChange={(severity) => go({ severity })}
      />
      <FilterSelect
        label="confidence"
        value={place.confidence}
        options={tallyOf(rows.map(({ finding }) => finding.confidence))}
        onChange={(confidence) => go({ confidence })}
      />
      <FilterSelect
        label="rule"
        value={place.rule}
        options={tallyOf(rows.map(({ finding }) => finding.rule))}
        onChange={(rule) => go({ rule })}
      />
      <FilterSelect
        label="module"
        value={place.about}
        options={tallyOf(rows.map(({ finding }) => finding.module ?? OUTSIDE))}
        text={(module) => (module === OUTSIDE ? "no one module" : pathText(module))}
        onChange={(about) => go({ about })}
      />
      {phases.length > 0 && (
        <FilterSelect
          label="syncs in phase"
          value={place.phase}
          options={phases}
          onChange={(phase) => go({ phase })}
        />
      )}
    </div>
  );
}
