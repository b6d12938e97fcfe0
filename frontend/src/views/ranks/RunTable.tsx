import { type ReactElement, useMemo } from "react";

import type { RunOverview } from "../../api/schema";
import { FilterSelect } from "../../components/controls";
import type { RunKey } from "../../parts/run";
import { type ServerColumn, ServerTable } from "../../parts/serverTable/ServerTable";
import { numberOf, PAGE_ROWS, rowsOf, type TableRow } from "../../parts/serverTable/rows";
import { usePlace } from "../../parts/services";
import { stepWords } from "../../report/stragglers";
import type { Sort } from "../../text/numbers";
import { Bandwidth } from "./Bandwidth";
import { Histogram } from "./Histogram";
import { binsOf, kindText, sizesOf } from "./collectives";
import { COLLECTIVE_COLUMNS, PARTS, rankColumns } from "./columns";
import { useChangeRanks, useRunRows } from "./useRun";

interface RunTableProps {
  runKey: RunKey;
  label: string;
  table: "ranks" | "collectives";
  columns: readonly ServerColumn[];
  /** The order until the reader chooses another. */
  first: Sort;
  filter: readonly string[];
  isSelected: (row: TableRow) => boolean;
  onSelect: (row: TableRow | null) => void;
  empty: string;
}

/** A page of a table of the run; its order and its page are in the address. */
function RunTable(props: RunTableProps): ReactElement {
  const { runKey, label, table, columns, filter, isSelected, onSelect, empty } = props;
  const [{ ranks: place, sort: chosen }, go] = usePlace();
  const change = useChangeRanks();
  const sort = chosen ?? props.first;
  const loaded = useRunRows(runKey, {
    table,
    sort: [`${sort.descending ? "-" : ""}${sort.key}`],
    filter,
    offset: place.page * PAGE_ROWS,
    limit: PAGE_ROWS,
  });
  const rows = rowsOf(loaded.value);
  const selected = rows.find(isSelected);
  return (
    <ServerTable
      label={label}
      columns={columns}
      loaded={loaded}
      sort={sort}
      onSort={(next) => go({ sort: next, ranks: { ...place, page: 0 } }, true)}
      page={place.page}
      onPage={(page) => change({ page })}
      selected={selected === undefined ? null : Number(selected.id)}
      onSelect={(id) => onSelect(rows.find((row) => row.id === id) ?? null)}
      search=""
      empty={empty}
    />
  );
}

interface RankListProps {
  runKey: RunKey;
  run: RunOverview;
}

/** The ranks with the means of their steps. */
export function RankList({ runKey, run }: RankListProps): ReactElement {
  const { stragglers, marked } = run;
  const columns = useMemo(() => rankColumns(stragglers, marked), [stragglers, marked]);
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  return (
    <>
      <ul className="rank-parts muted" aria-label={`Parts of a ${stepWords(run).whole}`}>
        {PARTS.map(({ id, title, colour }) => (
          <li key={id}>
            <span className="swatch" style={{ background: colour }} /> {title}
          </li>
        ))}
      </ul>
      <RunTable
        runKey={runKey}
        label="Ranks"
        table="ranks"
        columns={columns}
        first={{ key: "rank", descending: false }}
        filter={[]}
        isSelected={(row) => row.rank === place.rank}
        onSelect={(row) => change({ rank: row === null ? null : numberOf(row, "rank"), at: null })}
        empty="The run has no ranks."
      />
    </>
  );
}

interface CollectiveListProps {
  runKey: RunKey;
  run: RunOverview;
}

/** Collectives: how long they take, how fast they are, and each of them. */
export function CollectiveList({ runKey, run }: CollectiveListProps): ReactElement {
  const [{ ranks: place }] = usePlace();
  const change = useChangeRanks();
  return (
    <>
      <div className="toolbar">
        <FilterSelect
          label="kind"
          value={place.kind}
          options={run.kinds.map(({ name, count }) => [name, count])}
          text={kindText}
          onChange={(kind) => change({ kind, page: 0, collective: null })}
        />
      </div>
      <div className="collective-charts">
        <Histogram bins={binsOf(run.kinds, run.edges_us, place.kind)} />
        <Bandwidth sizes={sizesOf(run.sizes, place.kind)} leftOut={run.sizes_left_out} />
      </div>
      <RunTable
        runKey={runKey}
        label="Collectives"
        table="collectives"
        columns={COLLECTIVE_COLUMNS}
        first={{ key: "new_wait_us", descending: true }}
        filter={place.kind === null ? [] : [`name:eq:${place.kind}`]}
        isSelected={(row) => row.id === place.collective}
        onSelect={(row) => change({ collective: row === null ? null : Number(row.id), others: 0 })}
        empty="No collectives of several ranks were matched."
      />
    </>
  );
}
