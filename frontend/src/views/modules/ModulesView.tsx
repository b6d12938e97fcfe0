import { type ReactElement, useState } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { usePlace } from "../../parts/services";
import { divisor, measureOf } from "../../report/measures";
import { Figures } from "./Figures";
import { ModuleTable } from "./ModuleTable";
import { CompiledCode, HostNotice, NoBackward, NoModules } from "./Notices";
import { type KernelSearch, QuantityPicker, Toolbar, useKernelSearch } from "./Toolbar";
import { Picture } from "./icicle/Picture";
import { indexOfGroup, indexOfPath } from "./moduleTree";
import { GroupPanel } from "./panel/GroupPanel";
import { ModulePanel } from "./panel/ModulePanel";
import { holds } from "./quantity";
import {
  type Modules,
  MOST_EXPENSIVE_FIRST,
  type SharedSelection,
  useFolds,
  useModules,
} from "./useModules";

interface ModulesViewProps {
  report: ReportData;
  target: Target;
}

export function ModulesView({ report, target }: ModulesViewProps): ReactElement {
  const [place] = usePlace();
  const sort = place.sort ?? MOST_EXPENSIVE_FIRST;
  const kernels = useKernelSearch(target, place.search);
  const modules = useModules(report, place, sort, place.search, kernels.paths);
  const { base, chosen } = modules;
  const selected = indexOfPath(base, place.module);
  const picked = indexOfGroup(modules.tree, place.picked);
  const backward = holds(report, "backward");
  return (
    <div className={`view tone-${chosen.quantity}`}>
      <div className="view-main">
        <Figures report={report} averaging={place.averaging} />
        {base.nodes.length === 0 ? (
          <NoModules report={report} averaging={place.averaging} />
        ) : (
          <>
            <QuantityPicker report={report} chosen={chosen} />
            {!backward && <NoBackward report={report} />}
          </>
        )}
        {backward && measureOf(report) === "host" && <HostNotice report={report} />}
        <CompiledCode report={report} by={divisor(report, place.averaging)} />
        <Rows
          key={place.group}
          report={report}
          target={target}
          modules={modules}
          kernels={kernels}
        />
      </div>
      {selected === null && picked !== null && (
        <GroupPanel key={place.picked} report={report} modules={modules} index={picked} />
      )}
      {selected !== null && (
        <ModulePanel
          key={place.module}
          report={report}
          target={target}
          modules={modules}
          index={selected}
        />
      )}
    </div>
  );
}

interface RowsProps extends ModulesViewProps {
  modules: Modules;
  kernels: KernelSearch;
}

/** Picture and table, bound together; folds are of one tree. */
function Rows({ report, target, modules, kernels }: RowsProps): ReactElement {
  const [place, go] = usePlace();
  const { tree } = modules;
  const folds = useFolds(tree, place.module);
  const [hovered, setHovered] = useState<number | null>(null);
  const selected = indexOfPath(tree, place.module) ?? indexOfGroup(tree, place.picked);
  const shared: SharedSelection = { selected, hovered, onHover: setHovered };
  return (
    <>
      {tree.nodes.length > 0 && (
        <>
          <Toolbar
            hits={modules.search === null ? null : modules.search.hits.size}
            kernels={kernels}
            levels={tree.levels}
            onLevels={folds.toLevel}
          />
          <Picture report={report} modules={modules} shared={shared} folds={folds} />
        </>
      )}
      <ModuleTable
        report={report}
        target={target}
        modules={modules}
        folds={folds}
        shared={shared}
        onSelect={(index) => {
          const node = tree.nodes[index];
          if (node === undefined) return;
          const chosen = index === selected ? null : node.path;
          if (node.module !== null) go({ module: chosen, picked: null });
          else {
            folds.fold(index, !folds.expanded.has(index));
            go({ module: null, picked: chosen });
          }
        }}
      />
    </>
  );
}
