import type { ReactElement } from "react";

import type { Target } from "../../../api/request";
import type { ReportData } from "../../../api/schema";
import { Name } from "../../../components/Name";
import { PanelHeader, SidePanel } from "../../../components/SidePanel";
import { Fix } from "../../../parts/Fix";
import { useAsk, usePlace, useServices } from "../../../parts/services";
import { findingsOfModule, priceBasis } from "../../../report/findings";
import { divisor, isUnseen } from "../../../report/measures";
import { counted } from "../../../text/formats";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitions";
import { countBelow } from "../moduleTree";
import type { Modules } from "../useModules";
import { Detail } from "./Detail";
import { ModuleEvidence, ModuleFacts } from "./ModuleFacts";
import { ModuleSyncs } from "./ModuleSyncs";
import { KindBars, WorkTable } from "./work";

interface ModulePanelProps {
  report: ReportData;
  target: Target;
  modules: Modules;
  /** Row of the report. */
  index: number;
}

/** Why one module costs what it does, and what to do. */
export function ModulePanel(props: ModulePanelProps): ReactElement | null {
  const { report, target, modules, index } = props;
  const [, go] = usePlace();
  const { api } = useServices();
  const module = report.modules[index];
  const path = module?.path ?? "";
  const detail = useAsk(api.module.detail, [target, path]);
  if (module === undefined) return null;
  const by = divisor(report, modules.chosen.averaging);
  const basis = priceBasis(report);
  const fixes = findingsOfModule(report, module).map((finding) => (
    <Fix key={finding.id} finding={finding} basis={basis} />
  ));
  const syncs = <ModuleSyncs key="syncs" report={report} target={target} module={module} by={by} />;
  const close = (): void => go({ module: null });
  return (
    <SidePanel label="Module" className="module-panel" onClose={close}>
      <Head {...props} onClose={close} />
      {(module.sync.count ?? 0) > 0 ? [syncs, ...fixes] : [...fixes, syncs]}
      <WorkTable module={module} by={by} />
      <KindBars module={module} by={by} />
      <ModuleEvidence report={report} module={module} detail={detail.value} by={by} />
      <Detail
        report={report}
        module={module}
        detail={detail}
        by={by}
        clock={modules.chosen.clock}
        forward={modules.chosen.quantity === "forward"}
      />
      <ModuleFacts
        module={module}
        parameters={detail.status === "ready" ? detail.value.parameters : null}
      />
    </SidePanel>
  );
}

function Head(props: ModulePanelProps & { onClose: () => void }): ReactElement | null {
  const { report, modules, index } = props;
  const [place, go] = usePlace();
  const { base, chosen } = modules;
  const node = base.nodes[index];
  const module = report.modules[index];
  if (node === undefined || module === undefined) return null;
  const below = countBelow(base, index);
  const per = chosen.averaging === "mean" && report.per_step.of > 1 ? " per step" : "";
  const zoomed = place.zoom === node.path;
  return (
    <>
      <PanelHeader onClose={props.onClose}>
        <Name text={node.label} className="wrap" />
      </PanelHeader>
      <p className="muted">
        <Name text={module.class} className="inline" />
        {" · "}
        {isUnseen(module)
          ? "calls not seen"
          : `${counted(module.calls / divisor(report, chosen.averaging), "call")}${per}`}
        {below > 0 && ` · ${counted(below, "module")} below`}
      </p>
      {node.label !== module.path && module.path !== "" && (
        <p className="code">
          <Name text={module.path} className="wrap" />
        </p>
      )}
      {module.source !== null && (
        <p className="code source" title={D.source.text}>
          <Name text={module.source} className="wrap" />
        </p>
      )}
      {below > 0 && place.group === "instance" && (
        <button
          type="button"
          className="link"
          onClick={() => go({ zoom: zoomed ? null : node.path })}
        >
          {zoomed ? "Show all modules in the picture" : "Show only this in the picture"}
        </button>
      )}
    </>
  );
}
