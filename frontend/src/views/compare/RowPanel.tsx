import type { ReactElement } from "react";

import type { CompareSide } from "../../api/compare";
import { changeOf } from "../../model/compare/changes";
import type { CompareTable } from "../../model/compare/place";
import type { CompareRow, RowPlace } from "../../model/compare/rows";
import { duration } from "../../model/formats";
import { START, type Place } from "../../model/place";
import { Name } from "../Name";
import { PlaceLink } from "../PlaceLink";

interface RowPanelProps {
  row: CompareRow;
  table: CompareTable;
  base: CompareSide;
  other: CompareSide;
  onClose: () => void;
}

/** One row on both sides, and where each side's own page shows it. */
export function RowPanel({ row, table, base, other, onClose }: RowPanelProps): ReactElement {
  return (
    <aside
      className="panel"
      aria-label="Difference"
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <header>
        <h2>
          <Name text={row.name} className="wrap" />
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <p className="muted">
        {row.status} · <Name text={row.note} className="wrap" />
      </p>
      <dl className="facts">
        <Fact title="before, a step" value={duration(row.before)} />
        <Fact title="after, a step" value={duration(row.after)} />
        <Fact title="change" value={changeOf(row.change)} />
      </dl>
      <SideSection title="before" place={row.base} to={sidePlace(table, base, row.base, row)} />
      <SideSection title="after" place={row.other} to={sidePlace(table, other, row.other, row)} />
    </aside>
  );
}

function SideSection(props: {
  title: string;
  place: RowPlace | null;
  to: Partial<Place>;
}): ReactElement {
  const { title, place, to } = props;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {place === null ? (
        <p className="muted">It is not there.</p>
      ) : (
        <>
          <p className="code">
            <Name text={place.text} className="wrap" />
          </p>
          <PlaceLink to={to}>Show it {title}</PlaceLink>
        </>
      )}
    </section>
  );
}

function Fact({ title, value }: { title: string; value: string }): ReactElement {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** The row in the view of its own side. */
function sidePlace(
  table: CompareTable,
  side: CompareSide,
  place: RowPlace | null,
  row: CompareRow,
): Partial<Place> {
  const { run, worker, trace, steps } = side;
  const step = steps.length === 1 ? (steps[0] ?? null) : null;
  const at = { ...START, run, worker, trace, step };
  if (table === "modules") return { ...at, view: "backward", module: place?.module ?? null };
  if (table === "syncs") return { ...at, view: "syncs", cause: row.name };
  if (table === "findings") return { ...at, view: "findings", search: row.name };
  return { ...at, view: "timeline", search: row.name };
}
