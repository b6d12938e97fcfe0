import { useMemo, useRef, type ReactElement } from "react";

import type { Target } from "../../api/client";
import type { WireReport } from "../../api/types";
import {
  countedStep,
  DEAREST_FIRST,
  filterFindings,
  findingRows,
  sortFindings,
} from "../../report/findings";
import { findingsMarkdown } from "./findingText";
import { counted } from "../../text/formats";
import { CopyButton } from "../../components/CopyButton";
import { usePlace } from "../../parts/context";
import { useRules } from "../../parts/useRules";
import { Checked } from "./Checked";
import { FindingFigures } from "./FindingFigures";
import { FindingList } from "./FindingList";
import { FindingToolbar } from "./FindingToolbar";
import { NothingFound } from "./NothingFound";

interface FindingsViewProps {
  report: WireReport;
  target: Target;
}

/** Everything the rules found, dearest first, with what proves it and what to do. */
export function FindingsView({ report, target }: FindingsViewProps): ReactElement {
  const [place] = usePlace();
  const rules = useRules();
  const source = useRef<HTMLDivElement>(null);
  const { search, severity, confidence, rule, phase, about } = place;
  const sort = place.sort ?? DEAREST_FIRST;
  const { key, descending } = sort;
  const all = useMemo(() => findingRows(report), [report]);
  const rows = useMemo(
    () =>
      sortFindings(
        filterFindings(all, { search, severity, confidence, rule, phase, module: about }),
        { key, descending },
      ),
    [all, search, severity, confidence, rule, phase, about, key, descending],
  );
  const filtered = search !== "" || [severity, confidence, rule, phase, about].some(isChosen);
  const text = findingsMarkdown(
    rows.map(({ finding }) => finding),
    countedStep(report),
    report.trace.path,
  );
  return (
    <div className="view">
      <div className="view-main findings">
        {all.length === 0 ? (
          <NothingFound report={report} rules={rules} />
        ) : (
          <>
            <FindingFigures report={report} rows={all} rules={rules} />
            <FindingToolbar rows={all} fitting={rows.length} filtered={filtered} />
            <div className="finding-scroll" ref={source}>
              <FindingList report={report} target={target} rows={rows} sort={sort} />
              {rows.length === 0 && (
                <p className="table-empty">No finding fits search and filters.</p>
              )}
            </div>
            <footer className="findings-foot">
              {rules !== null && <Checked rules={rules} />}
              <span className="spring" />
              <CopyButton
                label={
                  filtered
                    ? `Copy ${counted(rows.length, "finding")} as Markdown`
                    : "Copy all as Markdown"
                }
                text={text}
                source={source}
              />
            </footer>
          </>
        )}
      </div>
    </div>
  );
}

const isChosen = (value: string | null): boolean => value !== null;
