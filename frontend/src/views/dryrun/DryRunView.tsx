import { type ReactElement, type ReactNode, useMemo } from "react";

import type { DryRunReport } from "../../api/schema";
import { Figure } from "../../components/Figure";
import { Name } from "../../components/Name";
import { DataTable } from "../../components/table/DataTable";
import type { Column } from "../../components/table/props";
import { PlaceFilter, PlaceSearch } from "../../parts/PlaceLink";
import { usePlace } from "../../parts/services";
import { count, figure, NOTHING } from "../../text/formats";
import type { Sort } from "../../text/numbers";
import { DryRunPanel } from "./DryRunPanel";
import { DRY_RUN_DEFINITIONS as D } from "./definitions";
import {
  counts,
  type DryPlace,
  type DrySortKey,
  fitting,
  lineText,
  placesOf,
  sorted,
  valueOf,
} from "./places";

const MOST_FIRST: Sort = { key: "perStep", descending: true };

/** The syncs of a dry run: places and counts, without times. */
export function DryRunView({ run }: { run: DryRunReport }): ReactElement {
  const [place, go] = usePlace();
  const { search, phase, cause, step } = place;
  const sort = place.sort ?? MOST_FIRST;
  const all = useMemo(() => placesOf(run, step), [run, step]);
  const shown = useMemo(
    () => sorted(fitting(all, { search, phase, cause, step }), sort),
    [all, search, phase, cause, step, sort],
  );
  const selected = shown.find(({ id }) => id === place.sync) ?? null;
  return (
    <div className="view">
      <div className="view-main syncs">
        <NoTimes run={run} />
        <Figures run={run} />
        <Toolbar run={run} all={all} shown={shown} />
        <DataTable
          label="Syncs of a dry run"
          columns={columns(search)}
          rows={shown}
          rowId={({ id }) => id}
          sort={sort}
          onSort={(next) => go({ sort: next }, true)}
          selected={selected?.id ?? null}
          onSelect={(id) => go({ sync: id === selected?.id ? null : id })}
          empty={
            all.length === 0
              ? "With a GPU the host would not wait for it in these steps."
              : "No sync matches the search and filters."
          }
        />
        <Unknown run={run} />
      </div>
      {selected !== null && <DryRunPanel run={run} place={selected} />}
    </div>
  );
}

function NoTimes({ run }: { run: DryRunReport }): ReactElement {
  return (
    <p className="dry-run-note" role="note">
      <strong>Dry run, not a recording.</strong> <bdi className="code">{run.program}</bdi> ran on a
      CPU (torch {run.torch_version}): the table lists where the host would wait for a GPU. Nothing
      was timed, so there are no durations, and a sync may cost nothing.
    </p>
  );
}

function Figures({ run }: { run: DryRunReport }): ReactElement {
  const places = placesOf(run, null).filter(counts);
  const note = run.steps > 1 ? "without the first step" : "";
  return (
    <dl className="figures">
      <Figure
        definition={D.syncs}
        number={figure(run.sync_count / Math.max(1, run.measured.length))}
        note={note}
      />
      <Figure definition={D.most} number={count(run.most_per_step)} note={note} />
      <Figure definition={D.places} number={count(places.length)} note={note} />
      <Figure definition={D.steps} number={count(run.steps)} />
    </dl>
  );
}

interface ToolbarProps {
  run: DryRunReport;
  all: readonly DryPlace[];
  shown: readonly DryPlace[];
}

function Toolbar({ run, all, shown }: ToolbarProps): ReactElement {
  const [{ search, phase, cause }] = usePlace();
  const filtered = search !== "" || phase !== null || cause !== null;
  const steps = [...new Set(run.syncs.map((sync) => sync.step))];
  return (
    <div className="toolbar">
      <PlaceSearch
        label="Search syncs"
        found={filtered ? `${shown.length} of ${all.length}` : null}
      />
      <PlaceFilter of="phase" options={tally(all, ({ sync }) => sync.phase)} />
      <PlaceFilter of="cause" options={tally(all, ({ sync }) => sync.cause)} />
      <PlaceFilter
        of="step"
        options={steps.map((one) => [`${one}`, placesOf(run, `${one}`).length])}
        also={{ sync: null }}
      />
    </div>
  );
}

function tally(places: readonly DryPlace[], of: (place: DryPlace) => string): [string, number][] {
  const found = new Map<string, number>();
  for (const place of places) found.set(of(place), (found.get(of(place)) ?? 0) + 1);
  return [...found].sort(([, a], [, b]) => b - a);
}

function columns(search: string): Column<DryPlace>[] {
  const text = (key: DrySortKey) =>
    function Text(place: DryPlace): ReactNode {
      const value = valueOf(place, key);
      if (value === null) return <span className="muted">{NOTHING}</span>;
      return <Name text={`${value}`} className={key === "phase" ? "" : "code"} mark={search} />;
    };
  return [
    column("what", 0, (place) => <What place={place} search={search} />),
    column("perStep", 76, ({ perStep }) => figure(perStep)),
    column("cause", 190, text("cause")),
    column("phase", 80, text("phase")),
    column("module", 130, text("module")),
    column("node", 130, text("node")),
  ];
}

/** Columns that give way where there is no room for all, the first first. */
const YIELDS: readonly DrySortKey[] = ["node", "phase", "module"];

function column(
  key: DrySortKey,
  width: number,
  render: (place: DryPlace) => ReactNode,
): Column<DryPlace> {
  const yields = YIELDS.includes(key) ? { yields: YIELDS.indexOf(key) } : {};
  return {
    id: key,
    accessorFn: (place) => valueOf(place, key),
    meta: { definition: D[key], width, align: key === "perStep" ? "end" : "start", ...yields },
    cell: ({ row }) => render(row.original),
  };
}

function What({ place, search }: { place: DryPlace; search: string }): ReactElement {
  const { sync } = place;
  const doubt = sync.certain ? "" : "uncertain · ";
  const allowed = sync.allowed === null ? "" : "allowed · ";
  return (
    <span className="tree-cell sync-cell">
      <Name text={lineText(sync)} className="code keep" mark={search} />
      <Name text={`${doubt}${allowed}${sync.code}`} className="code muted" mark={search} />
    </span>
  );
}

/** What the run did otherwise than a GPU, and what no dry run can know. */
function Unknown({ run }: { run: DryRunReport }): ReactElement {
  return (
    <details className="dry-run-unknown" open>
      <summary>What this dry run cannot know</summary>
      <ul className="muted">
        {[...run.notes, ...run.unknown].map((each) => (
          <li key={each}>
            <bdi>{each}</bdi>
          </li>
        ))}
      </ul>
    </details>
  );
}
