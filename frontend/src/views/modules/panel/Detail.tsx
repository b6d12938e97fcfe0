import { useState, type ReactElement } from "react";

import type { Module, ModuleDetail, ReportData } from "../../../api/schema";
import { Segments } from "../../../components/controls";
import type { Loaded } from "../../../parts/services";
import type { Measure } from "../../../report/measures";
import { CallChart } from "./CallChart";
import { KernelList, NodeList } from "./lists";
import { SCOPES, SIDES, type Scope, type Side } from "./moduleDetail";

interface DetailProps {
  report: ReportData;
  module: Module;
  detail: Loaded<ModuleDetail>;
  by: number;
  clock: Measure;
  /** Whether the forward is what is looked at. */
  forward: boolean;
}

const SCOPE_TITLES: Readonly<Record<Scope, string>> = { below: "including children", self: "self" };

/** What the server knows about one module. */
export function Detail({ report, module, detail, by, clock, forward }: DetailProps): ReactElement {
  const [side, setSide] = useState<Side>(forward ? "forward" : "backward");
  const [scope, setScope] = useState<Scope>("below");
  if (detail.status === "error") {
    return (
      <p role="alert">
        The rest of this module cannot be had: {detail.error.message}.{" "}
        <button type="button" className="link" onClick={detail.retry}>
          Try again
        </button>
      </p>
    );
  }
  if (detail.value === null) {
    return <p className="muted">Looking at its calls, kernels and nodes…</p>;
  }
  const { value } = detail;
  const device = module.backward.device_us !== null;
  return (
    <>
      <CallChart report={report} calls={value.calls} clock={device ? clock : "host"} />
      <div className="panel-choice">
        {device && (
          <Segments
            label="Kernels of"
            segments={SIDES.map((value) => ({
              value,
              title: value,
              disabled: value === "recompute" && module.recompute === null,
            }))}
            chosen={side}
            onChoose={setSide}
          />
        )}
        <Segments
          label="Modules"
          segments={SCOPES.map((value) => ({ value, title: SCOPE_TITLES[value] }))}
          chosen={scope}
          onChoose={setScope}
        />
      </div>
      {device && <KernelList detail={value} side={side} scope={scope} by={by} />}
      <NodeList detail={value} scope={scope} by={by} />
    </>
  );
}
