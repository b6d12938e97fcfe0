import { type ReactElement, type ReactNode, useMemo } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { DataTable } from "../../components/table/DataTable";
import type { Column } from "../../components/table/props";
import { usePlace } from "../../parts/services";
import { reasonsOf } from "../../report/headline";
import { divisor, measureOf, stepsLength } from "../../report/measures";
import { avoidable } from "../../report/syncs";
import {
  counted,
  duration,
  type DurationScale,
  NOTHING,
  percent,
  scaledDuration,
} from "../../text/formats";
import { over, ratio } from "../../text/numbers";
import { type ModuleRow, moduleRowId } from "./ModuleCell";
import { useBars } from "./Spark";
import { Bar, COPIED_CLASS, moduleColumns, totalScale } from "./columns";
import { visibleRows } from "./moduleTree";
import { callMeasure, type ChosenQuantity, restOf, wholeOf } from "./quantity";
import { type Folds, type Modules, MOST_EXPENSIVE_FIRST, type SharedSelection } from "./useModules";

interface ModuleTableProps {
  report: ReportData;
  target: Target;
  modules: Modules;
  folds: Folds;
  shared: SharedSelection;
  onSelect: (index: number) => void;
}

export function ModuleTable(props: ModuleTableProps): ReactElement {
  const { report, target, modules, shared } = props;
  const { chosen, grouping, numbers } = modules;
  const [{ search, withForward, sort }, go] = usePlace();
  const { expanded, fold } = props.folds;
  const bars = useBars(target, callMeasure(chosen));
  const rows = useRows(modules, expanded);
  const rest = over(restOf(report, chosen), divisor(report, chosen.averaging));
  const scale = useMemo(() => totalScale(numbers, rest), [numbers, rest]);
  const columns = useMemo(() => {
    const by = divisor(report, chosen.averaging);
    return moduleColumns({
      chosen,
      grouping,
      withForward,
      bars,
      numbers,
      whole: (wholeOf(report, chosen) ?? 0) / by,
      scale,
      syncs: avoidable(report.syncs).length > 0,
      step: stepsLength(report) / by,
      search,
      onFold: fold,
    });
  }, [report, chosen, grouping, withForward, bars, numbers, search, fold, scale]);
  const idOf = (index: number | null): string | null => (index === null ? null : String(index));
  return (
    <DataTable
      label="Modules"
      columns={columns}
      copied={COPIED_CLASS}
      rows={rows}
      rowId={moduleRowId}
      sort={sort ?? MOST_EXPENSIVE_FIRST}
      onSort={(next) => go({ sort: next }, true)}
      selected={idOf(shared.selected)}
      onSelect={(id) => props.onSelect(Number(id))}
      hovered={idOf(shared.hovered)}
      onHover={(id) => shared.onHover(id === null ? null : Number(id))}
      branch={(row) => ({ level: row.node.depth + 1, open: row.open })}
      onFold={(id, open) => fold(Number(id), open)}
      footer={(shown) => (
        <NotAttributed
          report={report}
          chosen={chosen}
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

interface NotAttributedProps {
  report: ReportData;
  chosen: ChosenQuantity;
  columns: Column<ModuleRow>[];
  scale: DurationScale;
  rowIndex: number;
}

/** What we do not know has a row. */
function NotAttributed(props: NotAttributedProps): ReactElement {
  const cells = cellsOf(props);
  return (
    <div role="rowgroup" className="table-foot">
      <div role="row" aria-rowindex={props.rowIndex} aria-level={1} className="table-row">
        {props.columns.map((column) => (
          <div key={column.id} role="gridcell" className={`cell ${column.meta?.align ?? "start"}`}>
            {cells[column.id ?? ""] ?? NOTHING}
          </div>
        ))}
      </div>
    </div>
  );
}

function cellsOf({
  report,
  chosen,
  scale,
}: NotAttributedProps): Partial<Record<string, ReactNode>> {
  const by = divisor(report, chosen.averaging);
  const whole = over(wholeOf(report, chosen), by);
  const lost = over(restOf(report, chosen), by);
  const syncs = avoidable(report.syncs).filter((sync) => sync.module === null);
  const blocked = syncs.reduce((sum, sync) => sum + sync.duration_us, 0) / by;
  const share = ratio(lost, whole);
  const text = scaledDuration(lost, scale);
  const reasons = whyNot(report, chosen, by);
  return {
    module: (
      <span className="tree-cell" title={reasons}>
        <span className="fold none" />
        <span className="code">not attributed</span>
        <span className="muted name">{reasons}</span>
      </span>
    ),
    total: <Bar text={text} part={share ?? 0} />,
    self: <Bar text={text} part={share ?? 0} />,
    share: percent(share),
    communication:
      chosen.quantity === "backward" && chosen.clock === "device"
        ? duration(over(report.coverage.unattributed_communication_us, by))
        : NOTHING,
    host:
      chosen.quantity === "backward"
        ? duration(over(report.coverage.unattributed_host_us, by))
        : NOTHING,
    blocked:
      syncs.length === 0 ? (
        NOTHING
      ) : (
        <span title={counted(syncs.length / by, "sync")}>{duration(blocked)}</span>
      ),
  };
}

/** Reasons are known for the backward, in the report's own measure. */
function whyNot(report: ReportData, { quantity, clock }: ChosenQuantity, by: number): string {
  if (quantity === "backward" && clock === measureOf(report)) {
    return reasonsOf(report)
      .map(([reason, us]) => `${reason} ${duration(us / by)}`)
      .join(" · ");
  }
  if (quantity === "forward") return clock === "device" ? "launched outside of modules" : "";
  return quantity === "communication" ? "launched outside of modules' work" : "";
}
