import type { CSSProperties, ReactElement } from "react";

import type { Place } from "../../address/place";
import type { Target } from "../../api/request";
import type { TablePage } from "../../api/schema";
import { Name } from "../../components/Name";
import { ShareBar } from "../../components/charts";
import { SearchBox, Segments } from "../../components/controls";
import type { Definition } from "../../text/definitions";
import {
  count,
  durationScale,
  NOTHING,
  scaledDuration,
  type Unit,
  written,
} from "../../text/formats";
import { differences } from "../../text/kernelName";
import type { Sort } from "../../text/numbers";
import { type Loaded, usePlace } from "../services";
import { type ServerColumn, ServerTable } from "./ServerTable";
import { largest, numberOf, PAGE_ROWS, rowsOf, type TableRow, textOf, useRows } from "./rows";

const TOP = 8;

/** What of the table is on show. */
interface TablePlace<Group extends string> {
  readonly group: Group;
  readonly page: number;
  readonly row: number | null;
}

interface TableSectionProps<Group extends string> {
  /** Of the table: "Operators". */
  label: string;
  target: Target;
  table: string;
  columns: readonly ServerColumn[];
  /** Titles of what makes one row. */
  groups: Readonly<Record<Group, string>>;
  place: TablePlace<Group>;
  /** Goes there, with what else of the place changes; quietly leaves no step in the history. */
  onPlace: (
    place: Partial<TablePlace<Group>>,
    also?: Pick<Partial<Place>, "search" | "sort">,
    quietly?: boolean,
  ) => void;
  /** The figure that decides what is expensive, and orders the table at first. */
  cost: { column: string; definition: Definition; title: string };
  /** At most as many rows as this are expected, before they are there. */
  expected: number;
  /** What the rows are of: "whole trace, 3 steps". */
  of: string;
  /** What tells rows of one name apart. */
  detail?: ((row: TableRow) => string) | undefined;
  /** Said where there are no rows, and where none fits the search. */
  empty: { none: string; notFound: string };
  /** What is shown in place of the bars of the most expensive. */
  picture?: ReactElement | undefined;
  /** Columns to ask for; all where there are none. */
  asked?: readonly string[];
  /** Adds to a row what comes later than the rest. */
  fill?: (row: TableRow) => TableRow;
}

/** Search, grouping, the most expensive as bars, and the table, a page at a time. */
export function TableSection<Group extends string>(props: TableSectionProps<Group>): ReactElement {
  const { label, target, table, place, onPlace, cost, empty, asked = [] } = props;
  const [{ search, sort: chosen }] = usePlace();
  const sort: Sort = chosen ?? { key: cost.column, descending: true };
  const filter = search === "" ? [] : [`name:contains:${search}`];
  const order = [`${sort.descending ? "-" : ""}${sort.key}`];
  const offset = place.page * PAGE_ROWS;
  const loaded = filled(
    useRows(target, { table, sort: order, filter, offset, limit: PAGE_ROWS, columns: asked }),
    props.fill,
  );
  const costly = [`-${cost.column}`];
  const top = useRows(target, {
    table,
    sort: costly,
    filter,
    limit: TOP,
    columns: asked,
  });
  const onSelect = (row: number | null): void => onPlace({ row });
  return (
    <>
      <TableToolbar {...props} found={loaded.value?.total ?? null} />
      {props.picture}
      {props.picture === undefined &&
        props.expected > 0 &&
        !(top.status === "ready" && top.value.total === 0) && (
          <TopBars
            title={cost.title}
            of={props.of}
            kernel={props.columns.some(({ kernel }) => kernel)}
            detail={props.detail}
            rows={rowsOf(top.value)}
            room={Math.min(TOP, props.expected)}
            column={cost.column}
            definition={cost.definition}
            onSelect={onSelect}
          />
        )}
      <ServerTable
        label={label}
        columns={props.columns}
        loaded={loaded}
        sort={sort}
        onSort={(next) => onPlace({ page: 0 }, { sort: next }, true)}
        page={place.page}
        onPage={(page) => onPlace({ page })}
        selected={place.row}
        onSelect={onSelect}
        search={search}
        empty={search === "" ? empty.none : empty.notFound}
      />
    </>
  );
}

/** Search, and what makes one row. */
function TableToolbar<Group extends string>({
  label,
  groups,
  place,
  onPlace,
  found,
}: TableSectionProps<Group> & { found: number | null }): ReactElement {
  const [{ search }] = usePlace();
  return (
    <div className="toolbar">
      <SearchBox
        label={`Search ${label.toLowerCase()}`}
        text={search}
        onText={(text) => onPlace({ page: 0 }, { search: text }, true)}
        found={search === "" ? null : `${count(found)} found`}
      />
      <Segments
        label="Group by"
        segments={Object.entries<string>(groups).map(([value, title]) => ({
          value: value as Group,
          title,
        }))}
        chosen={place.group}
        onChoose={(group) => onPlace({ group, page: 0, row: null }, { sort: null })}
      />
    </div>
  );
}

function filled(
  loaded: Loaded<TablePage>,
  fill: TableSectionProps<string>["fill"],
): Loaded<TablePage> {
  if (fill === undefined || loaded.value === null) return loaded;
  return { ...loaded, value: { ...loaded.value, rows: rowsOf(loaded.value).map(fill) } };
}

interface TopBarsProps {
  title: string;
  /** What the rows are of: "whole trace, 3 steps". */
  of: string;
  rows: readonly TableRow[];
  /** How many rows there is room for, whether they are there yet or not. */
  room: number;
  /** Column that the bars are of. */
  column: string;
  definition: Definition;
  /** Whether the rows are kernels. */
  kernel: boolean;
  /** What tells rows of one name apart. */
  detail?: ((row: TableRow) => string) | undefined;
  onSelect: (id: number) => void;
}

/** The most expensive rows as bars; the table below says the same. */
function TopBars(props: TopBarsProps): ReactElement {
  const { title, of, rows, room, column, definition, kernel, detail, onSelect } = props;
  const most = largest(rows, column);
  const apart = kernel ? differences(rows.map((row) => textOf(row, "name"))) : null;
  const detailOf = detail ?? ((row: TableRow) => apart?.get(textOf(row, "name")) ?? "");
  return (
    <section className="facet top-bars" aria-label={title}>
      <h2>
        {title} <span className="muted">{of}</span>
      </h2>
      <ol style={{ "--rows": room } as CSSProperties}>
        {rows.map((row) => {
          const value = numberOf(row, column);
          return (
            <li key={String(row.id)}>
              <button type="button" className="quiet" onClick={() => onSelect(Number(row.id))}>
                <Name kernel={kernel} text={textOf(row, "name")} />
                {detailOf(row) !== "" && <Name text={detailOf(row)} className="muted" />}
              </button>
              <ShareBar share={most > 0 ? (value ?? 0) / most : null} />
              <span>{amount(value, definition.unit, most)}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** A bar's amount: all durations in the unit of the largest. */
function amount(value: number | null, unit: Unit | undefined, most: number): string {
  if (unit === undefined) return NOTHING;
  return unit === "us" ? scaledDuration(value, durationScale(most)) : written(value, unit);
}
