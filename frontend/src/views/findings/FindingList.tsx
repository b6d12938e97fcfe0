import type { ReactElement } from "react";

import type { Target } from "../../api/client";
import type { WireReport } from "../../api/types";
import type { Definition } from "../../text/definitions";
import { FINDING_DEFINITIONS as D } from "./definitions";
import { unknownAmounts, type FindingRow, type FindingSortKey } from "../../report/findings";
import { counted } from "../../text/formats";
import type { Sort } from "../modules/treeRows";
import { usePlace } from "../../parts/context";
import { FindingDetail } from "./FindingDetail";
import { FindingItem } from "./FindingItem";

interface FindingListProps {
  report: WireReport;
  target: Target;
  rows: readonly FindingRow[];
  sort: Sort;
}

/** The findings, one of them open. */
export function FindingList({ report, target, rows, sort }: FindingListProps): ReactElement {
  const [place, go] = usePlace();
  // Nothing chosen: the first one is open, so that the page answers by itself.
  const open = place.finding ?? rows[0]?.id ?? "";
  const unknown = unknownAmounts(rows, sort);
  return (
    <>
      <div className="finding-head">
        <span title={D.severity.text}>{D.severity.title}</span>
        <span title={D.finding.text}>{D.finding.title}</span>
        <span title={D.picture.text}>{D.picture.title}</span>
        <SortButton name="cost" definition={D.cost} sort={sort} />
        <span className="number" title={D.share.text}>
          {D.share.title}
        </span>
        <SortButton name="gain" definition={D.gain} sort={sort} />
        <span className="number" title={D.count.text}>
          {D.count.title}
        </span>
      </div>
      <ul className="finding-list" aria-label="Findings">
        {rows.map((row) => (
          <FindingItem
            key={row.id}
            row={row}
            search={place.search}
            open={row.id === open}
            onToggle={() => {
              go({ finding: row.id === open ? "" : row.id });
            }}
          >
            <FindingDetail report={report} target={target} row={row} />
          </FindingItem>
        ))}
      </ul>
      {unknown > 0 && (
        <p className="muted finding-unknown">
          {counted(unknown, "finding")} with a {sort.key} that this trace does not tell{" "}
          {unknown === 1 ? "stands" : "stand"} last.
        </p>
      )}
    </>
  );
}

interface SortButtonProps {
  name: FindingSortKey;
  definition: Definition;
  sort: Sort;
}

function SortButton({ name, definition, sort }: SortButtonProps): ReactElement {
  const [, go] = usePlace();
  const sorted = sort.key === name;
  return (
    <span className="number">
      <button
        type="button"
        className={sorted ? "sort sorted" : "sort"}
        title={definition.text}
        aria-pressed={sorted}
        onClick={() => {
          go({ sort: { key: name, descending: sorted ? !sort.descending : true } }, true);
        }}
      >
        {sorted && (
          <span className="sort-mark" aria-hidden="true">
            {sort.descending ? "▼" : "▲"}
          </span>
        )}
        {definition.title}
      </button>
    </span>
  );
}
