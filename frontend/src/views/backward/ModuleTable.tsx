import { useMemo, type ReactElement } from "react";

import type { WireReport } from "../../api/types";
import {
  divisor,
  measureOf,
  over,
  unattributedTotal,
  backwardTotal,
  stepsLength,
  type Averaging,
} from "../../model/measures";
import { visibleRows, type Sort } from "../../model/treeRows";
import { DataTable } from "../table/DataTable";
import { moduleColumns, totalScale } from "./columns";
import { moduleRowId, type ModuleRow } from "./moduleRow";
import { NotAttributed } from "./NotAttributed";
import type { Bond } from "./bond";
import type { Folds } from "./useFolds";
import type { Modules } from "./useModules";

interface ModuleTableProps {
  report: WireReport;
  modules: Modules;
  averaging: Averaging;
  search: string;
  folds: Folds;
  bond: Bond;
  sort: Sort;
  onSort: (sort: Sort) => void;
  onSelect: (index: number) => void;
}

export function ModuleTable(props: ModuleTableProps): ReactElement {
  const { report, modules, averaging, search, bond } = props;
  const { expanded, fold } = props.folds;
  const rows = useRows(modules, expanded);
  const rest = over(unattributedTotal(report), divisor(report, averaging));
  const scale = useMemo(() => totalScale(modules.numbers, rest), [modules.numbers, rest]);
  const columns = useMemo(() => {
    const by = divisor(report, averaging);
    return moduleColumns({
      measure: measureOf(report),
      numbers: modules.numbers,
      whole: (backwardTotal(report) ?? 0) / by,
      scale,
      step: stepsLength(report) / by,
      search,
      onFold: fold,
    });
  }, [report, averaging, modules.numbers, search, fold, scale]);
  const idOf = (index: number | null): string | null => (index === null ? null : String(index));
  return (
    <DataTable
      label="Modules"
      columns={columns}
      rows={rows}
      rowId={moduleRowId}
      sort={props.sort}
      onSort={props.onSort}
      selected={idOf(bond.selected)}
      onSelect={(id) => {
        props.onSelect(Number(id));
      }}
      hovered={idOf(bond.hovered)}
      onHover={(id) => {
        bond.onHover(id === null ? null : Number(id));
      }}
      branch={(row) => ({ level: row.node.depth + 1, open: row.open })}
      onFold={(id, open) => {
        fold(Number(id), open);
      }}
      footer={
        <NotAttributed
          report={report}
          averaging={averaging}
          columns={columns}
          scale={scale}
          rowIndex={rows.length + 2}
        />
      }
      empty={
        search === ""
          ? "This trace names no modules."
          : "No module's path or class holds this text."
      }
    />
  );
}

function useRows(modules: Modules, expanded: ReadonlySet<number>): ModuleRow[] {
  const { tree, numbers, order, search } = modules;
  return useMemo(
    () =>
      visibleRows(order, expanded, search).flatMap((index): ModuleRow[] => {
        const node = tree.nodes[index];
        const values = numbers[index];
        if (node === undefined || values === undefined) return [];
        const open = node.children.length === 0 ? null : search !== null || expanded.has(index);
        return [{ node, numbers: values, open }];
      }),
    [tree, numbers, order, search, expanded],
  );
}
