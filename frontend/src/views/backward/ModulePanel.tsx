import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { findingsOfModule } from "../../model/findings";
import { counted } from "../../model/formats";
import { divisor, type Averaging } from "../../model/measures";
import { countBelow, type ModuleTree } from "../../model/moduleTree";
import { Name } from "../Name";
import { Remedy } from "../Remedy";
import { ModuleSyncs } from "./ModuleSyncs";
import { WorkTable } from "./WorkTable";

interface ModulePanelProps {
  report: WireReport;
  tree: ModuleTree;
  index: number;
  averaging: Averaging;
  zoomed: boolean;
  onZoom: () => void;
  /** Show one sync, or with null all of this module. */
  onSyncs: (sync: string | null) => void;
  onClose: () => void;
}

/** Everything the report says of one module. */
export function ModulePanel(props: ModulePanelProps): ReactElement | null {
  const { report, tree, index, averaging } = props;
  const node = tree.nodes[index];
  const module = report.modules[index];
  if (node === undefined || module === undefined) return null;
  const by = divisor(report, averaging);
  const below = countBelow(tree, index);
  return (
    <aside
      className="panel"
      aria-label="Module"
      onKeyDown={(event) => {
        if (event.key === "Escape") props.onClose();
      }}
    >
      <header>
        <h2>
          <Name text={node.label} />
        </h2>
        <button type="button" className="quiet" onClick={props.onClose}>
          Close
        </button>
      </header>
      <p className="muted">
        <Name text={module.class} className="wrap" />
      </p>
      {node.label !== module.path && module.path !== "" && (
        <p className="code">
          <Name text={module.path} className="wrap" />
        </p>
      )}
      <p className="muted">
        {counted(module.calls / by, "call")}
        {averaging === "mean" && report.steps.length > 1 ? " a step" : ""}
        {below > 0 && ` · ${counted(below, "module")} below`}
      </p>
      <WorkTable module={module} by={by} />
      <ModuleSyncs
        report={report}
        path={module.path}
        sync={module.sync}
        by={by}
        onSyncs={props.onSyncs}
      />
      {findingsOfModule(report, module.path).map((finding) => (
        <Remedy key={`${finding.rule} ${finding.where}`} finding={finding} />
      ))}
      {node.children.length > 0 && (
        <button type="button" onClick={props.onZoom}>
          {props.zoomed ? "Show all modules in the picture" : "Show only this in the picture"}
        </button>
      )}
    </aside>
  );
}
