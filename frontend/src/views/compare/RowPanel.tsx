import { type ReactElement, useMemo } from "react";

import type { Place } from "../../address/place";
import type { CompareSide } from "../../api/client";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { PanelHeader, SidePanel } from "../../components/SidePanel";
import { Facts } from "../../components/SmallTable";
import { PlaceLink } from "../../parts/PlaceLink";
import { duration } from "../../text/formats";
import type { CompareTable } from "./address";
import { changeOf } from "./changes";
import { type CompareRow, rowPlace, type RowPlace, syncPlace, syncsAt } from "./rows";

interface RowPanelProps {
  row: CompareRow;
  table: CompareTable;
  base: CompareSide;
  other: CompareSide;
  /** Reports of all steps; of the side before null until it is there. */
  before: ReportData | null;
  after: ReportData;
  /** Whether times are means per step; see `definitions.ts`. */
  perStep: boolean;
  onClose: () => void;
}

const LINKS = {
  modules: "Show module",
  syncs: "Show in Syncs",
  kernels: "Show in Timeline",
  findings: "Show in Findings",
} as const;

/** One row on both sides, and where each side's own page shows it. */
export function RowPanel(props: RowPanelProps): ReactElement {
  const { row, table, base, other, before, after, onClose } = props;
  const per = props.perStep ? ", per step" : "";
  return (
    <SidePanel label="Difference" className="row-panel" onClose={onClose}>
      <PanelHeader onClose={onClose}>
        <Name text={row.name} className="wrap" />
      </PanelHeader>
      <p className="muted">
        {row.status}
        {hasDetails(row) && (
          <>
            {" "}
            · <Name text={row.note} className="wrap" />
          </>
        )}
      </p>
      <Facts
        of={[
          sideFact(`before${per}`, row.before, "before", row.once?.base),
          sideFact(`after${per}`, row.after, "after", row.once?.other),
          ["change", changeOf(row.change)],
        ]}
      />
      <SideSection title="before" row={row} table={table} {...{ place: row.base, side: base }}>
        <LongestSync report={before} row={row} place={row.base} side={base} />
      </SideSection>
      <SideSection title="after" row={row} table={table} {...{ place: row.other, side: other }}>
        <LongestSync report={after} row={row} place={row.other} side={other} />
      </SideSection>
    </SidePanel>
  );
}

function sideFact(
  title: string,
  us: number | null,
  side: string,
  once: number | null | undefined,
): [string, string] {
  return once == null ? [title, duration(us)] : [`${side}, once`, duration(once)];
}

/** Whether a row's note is more than what either side says below. */
function hasDetails({ note, base, other }: CompareRow): boolean {
  return note !== "" && note !== base?.text && note !== other?.text;
}

interface SideProps {
  row: CompareRow;
  /** Where the row is on this side; null where it is not. */
  place: RowPlace | null;
  side: CompareSide;
}

function SideSection(
  props: SideProps & { title: string; table: CompareTable; children: ReactElement },
): ReactElement {
  const { title, table, row, place, side, children } = props;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {place === null ? (
        <p className="muted">It is not there.</p>
      ) : (
        <>
          {place.text !== row.name && (
            <p className="code">
              <Name text={place.text} className="wrap" />
            </p>
          )}
          <p className="links">
            <SideLink to={rowPlace(table, side, place, row)} text={LINKS[table]} />
            {children}
          </p>
        </>
      )}
    </section>
  );
}

/** Leads to the longest of a call site's syncs, once the report of its side is there. */
function LongestSync(props: SideProps & { report: ReportData | null }): ReactElement | null {
  const { report, row, place, side } = props;
  const site = place?.site ?? null;
  const syncs = useMemo(
    () => (report === null || site === null ? null : syncsAt(report, row.name, site, side.steps)),
    [report, row.name, site, side.steps],
  );
  if (report === null || syncs === null) return null;
  const { count, longest } = syncs;
  return (
    <SideLink
      to={syncPlace(report, side, longest)}
      text={count === 1 ? "Show in timeline" : `Show the longest of ${count} in timeline`}
    />
  );
}

function SideLink({ to, text }: { to: Partial<Place>; text: string }): ReactElement {
  return (
    <PlaceLink className="button" to={to}>
      {text}
    </PlaceLink>
  );
}
