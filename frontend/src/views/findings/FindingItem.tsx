import { useId, type ReactElement, type ReactNode } from "react";

import { count, duration, NOTHING, percent } from "../../text/formats";
import type { FindingRow } from "../../report/findings";
import { Name } from "../../components/Name";
import { CostBar } from "./CostBar";

interface FindingItemProps {
  row: FindingRow;
  search: string;
  open: boolean;
  onToggle: () => void;
  children: ReactNode;
}

/** One finding as a line that opens to its evidence. */
export function FindingItem(props: FindingItemProps): ReactElement {
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
            <Name text={finding.where} className="code muted" mark={search} />
          </span>
          <CostBar row={row} />
          <span className="number">{duration(finding.cost_us_per_step)}</span>
          <span className="number">{percent(row.costShare)}</span>
          <span className="number">
            {finding.gain_us_per_step === null ? NOTHING : duration(finding.gain_us_per_step)}
          </span>
          <span className="number">{count(finding.count)}</span>
        </button>
      </h2>
      <div id={id} className="finding-detail" hidden={!open}>
        {open && children}
      </div>
    </li>
  );
}
