import { type ReactElement, type ReactNode, useId } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { useWords } from "../../components/words";
import { usePlace } from "../../parts/services";
import { placeText, savingFigure } from "../../report/findings";
import type { Definition } from "../../text/definitions";
import { count, counted, duration, NOTHING, percent } from "../../text/formats";
import type { Sort } from "../../text/numbers";
import { CostBar, FindingDetail } from "./FindingDetail";
import { FINDING_DEFINITIONS as D } from "./definitions";
import { type FindingRow, type FindingSortKey, unknownAmounts } from "./findings";

interface FindingListProps {
  report: ReportData;
  target: Target;
  rows: readonly FindingRow[];
  sort: Sort | null;
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
        <Head definition={D.severity} />
        <Head definition={D.finding} />
        <Head definition={D.picture} />
        <SortButton name="cost" definition={D.cost} sort={sort} />
        <Head definition={D.share} className="number" />
        <SortButton name="gain" definition={D.gain} sort={sort} />
        <Head definition={D.count} className="number" />
      </div>
      <ul className="finding-list" aria-label="Findings">
        {rows.map((row) => (
          <FindingItem
            key={row.id}
            row={row}
            search={place.search}
            open={row.id === open}
            onToggle={() => go({ finding: row.id === open ? "" : row.id })}
          >
            <FindingDetail report={report} target={target} row={row} />
          </FindingItem>
        ))}
      </ul>
      {unknown > 0 && (
        <p className="muted finding-unknown">
          {counted(unknown, "finding")} with a {sort?.key} that is unknown in this trace{" "}
          {unknown === 1 ? "stands" : "stand"} last.
        </p>
      )}
    </>
  );
}

interface HeadProps {
  definition: Definition;
  className?: string;
}

function Head({ definition, className }: HeadProps): ReactElement {
  const words = useWords();
  return (
    <span className={className} title={words(definition.text)}>
      {words(definition.title)}
    </span>
  );
}

interface SortButtonProps {
  name: FindingSortKey;
  definition: Definition;
  sort: Sort | null;
}

function SortButton({ name, definition, sort }: SortButtonProps): ReactElement {
  const [, go] = usePlace();
  const words = useWords();
  const sorted = sort?.key === name;
  return (
    <span className="number">
      <button
        type="button"
        className={sorted ? "sort sorted" : "sort"}
        title={words(definition.text)}
        aria-pressed={sorted}
        onClick={() =>
          go({ sort: { key: name, descending: sorted ? !sort.descending : true } }, true)
        }
      >
        {sorted && (
          <span className="sort-mark" aria-hidden="true">
            {sort.descending ? "▼" : "▲"}
          </span>
        )}
        {words(definition.title)}
      </button>
    </span>
  );
}

interface FindingItemProps {
  row: FindingRow;
  search: string;
  open: boolean;
  onToggle: () => void;
  children: ReactNode;
}

/** One finding as a line that opens to its evidence. */
function FindingItem(props: FindingItemProps): ReactElement {
  const { row, search, open, onToggle, children } = props;
  const { finding } = row;
  const id = useId();
  return (
    <li className={open ? "finding open" : "finding"}>
      <h2>
        <button type="button" aria-expanded={open} aria-controls={id} onClick={onToggle}>
          <span className="fold" aria-hidden="true">
            {open ? "▼" : "▶"}
          </span>
          <span className={`severity ${finding.severity}`}>{finding.severity}</span>
          <span className="finding-what">
            <Name text={finding.title} mark={search} />
            <Name text={placeText(finding)} className="code muted" mark={search} />
          </span>
          <CostBar row={row} />
          <span className="number">
            {finding.once_us === null
              ? duration(finding.cost_us_per_step)
              : `${duration(finding.once_us)} once`}
          </span>
          <span className="number">{percent(row.costShare)}</span>
          <span className="number">{savingFigure(finding) || NOTHING}</span>
          <span className="number">{count(finding.count)}</span>
        </button>
      </h2>
      <div id={id} className="finding-detail" hidden={!open}>
        {open && children}
      </div>
    </li>
  );
}
