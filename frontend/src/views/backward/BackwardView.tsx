import { useState, type ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { backwardTotal, measureOf } from "../../model/measures";
import { indexOfPath } from "../../model/moduleTree";
import { usePlace } from "../state/context";
import { Figures } from "./Figures";
import { ModulePanel } from "./ModulePanel";
import type { Bond } from "./bond";
import { ModuleTable } from "./ModuleTable";
import { HostNotice, NoBackward, NoModules } from "./Notices";
import { Picture } from "./Picture";
import { Toolbar } from "./Toolbar";
import { useFolds } from "./useFolds";
import { DEAREST_FIRST, useModules, type Modules } from "./useModules";

export function BackwardView({ report }: { report: WireReport }): ReactElement {
  const [place, go] = usePlace();
  const sort = place.sort ?? DEAREST_FIRST;
  const modules = useModules(report, place.averaging, sort, place.search);
  const { tree } = modules;
  const folds = useFolds(tree, place.module);
  const [hovered, setHovered] = useState<number | null>(null);
  const selected = indexOfPath(tree, place.module);
  const zoom = indexOfPath(tree, place.zoom);
  const backward = (backwardTotal(report) ?? 0) > 0;
  const bond: Bond = { selected, hovered, onHover: setHovered };
  return (
    <div className="view">
      <div className="view-main">
        <Figures report={report} averaging={place.averaging} />
        <Toolbar
          search={place.search}
          onSearch={(search) => {
            go({ search }, true);
          }}
          hits={modules.search === null ? null : modules.search.hits.size}
          levels={tree.levels}
          onLevels={folds.toLevel}
        >
          {backward && measureOf(report) === "host" && <HostNotice report={report} />}
        </Toolbar>
        {tree.nodes.length === 0 && <NoModules report={report} />}
        {tree.nodes.length > 0 && !backward && <NoBackward />}
        {tree.nodes.length > 0 && backward && (
          <Picture
            report={report}
            modules={modules}
            bond={bond}
            zoom={zoom}
            onReveal={folds.reveal}
          />
        )}
        <ModuleTable
          report={report}
          modules={modules}
          averaging={place.averaging}
          search={place.search}
          folds={folds}
          bond={bond}
          sort={sort}
          onSort={(next) => {
            go({ sort: next }, true);
          }}
          onSelect={(index) => {
            go({ module: index === selected ? null : (tree.nodes[index]?.path ?? null) });
          }}
        />
      </div>
      {selected !== null && (
        <Panel report={report} modules={modules} index={selected} zoom={zoom} />
      )}
    </div>
  );
}

interface PanelProps {
  report: WireReport;
  modules: Modules;
  index: number;
  zoom: number | null;
}

function Panel({ report, modules, index, zoom }: PanelProps): ReactElement {
  const [place, go] = usePlace();
  const path = modules.tree.nodes[index]?.path ?? "";
  return (
    <ModulePanel
      report={report}
      tree={modules.tree}
      index={index}
      averaging={place.averaging}
      zoomed={zoom === index}
      onZoom={() => {
        go({ zoom: zoom === index ? null : path });
      }}
      onSyncs={(sync) => {
        go({
          view: "syncs",
          search: sync === null ? path : "",
          sort: null,
          phase: null,
          cause: null,
          sync,
        });
      }}
      onClose={() => {
        go({ module: null });
      }}
    />
  );
}
