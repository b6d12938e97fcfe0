import { useMemo, type ReactElement } from "react";

import type { Target } from "../../api/client";
import type { WireReport } from "../../api/types";
import { callMeasure, restOf, wholeOf } from "./lens";
import { divisor, over, stepsLength } from "../../report/measures";
import { visibleRows } from "./treeRows";
import { usePlace } from "../../parts/context";
import { DataTable } from "../../components/table/DataTable";
import { moduleColumns, totalScale } from "./columns";
import { moduleRowId, type ModuleRow } from "./moduleRow";
import { NotAttributed } from "./NotAttributed";
import { useBars } from "./useBars";
import type { Bond } from "./bond";
import type { Folds } from "./useFolds";
import { DEAREST_FIRST, type Modules } from "./useModules";

interface ModuleTableProps {
  report: WireReport;
  target: Target;
  modules: Modules;
  folds: Folds;
  bond: Bond;
  onSelect: (index: number) => void;
}

export function ModuleTable(props: ModuleTableProps): ReactElement {
  const { report, target, modules, bond } = props;
  const { lens, grouping, numbers } = modules;
  const [{ search, beside, sort }, go] = usePlace();
  const { expanded, fold } = props.folds;
  const bars = useBars(target, callMeasure(lens));
  const rows = useRows(modules, expanded);
  const rest = over(restOf(report, lens), divisor(report, lens.averaging));
  const scale = useMemo(() => totalScale(numbers, rest), [numbers, rest]);
  const columns = useMemo(() => {
    const by = divisor(report, lens.averaging);
    return moduleColumns({
      lens,
      grouping,
      beside,
      bars,
      numbers,
      whole: (wholeOf(report, lens) ?? 0) / by,
      scale,
      waits: report.syncs.length > 0,
      step: stepsLength(report) / by,
      search,
      onFold: fold,
    });
  }, [report, lens, grouping, beside, bars, numbers, search, fold, scale]);
  const idOf = (index: number | null): string | null => (index === null ? null : String(index));
  return (
    <DataTable
      label="Modules"
      columns={columns}
      rows={rows}
      rowId={moduleRowId}
      sort={sort ?? DEAREST_FIRST}
      onSort={(next) => {
        go({ sort: next }, true);
      }}
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
      footer={(shown) => (
        <NotAttributed
          report={report}
          lens={lens}
          columns={shown}
          scale={scale}
          rowIndex={rows.length + 2}
        />
      )}
      empty={
        search === ""
          ? "This trace names no modules."
          : "No module's path, class or kernels hold this text."
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
