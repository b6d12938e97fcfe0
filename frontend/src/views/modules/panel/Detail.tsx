import { type ReactElement, useState } from "react";

import type { Module, ModuleDetail, ReportData } from "../../../api/schema";
import { Name } from "../../../components/Name";
import { Term } from "../../../components/Tip";
import { Segments } from "../../../components/controls";
import { useMore } from "../../../components/more";
import type { Loaded } from "../../../parts/services";
import { isUnseen, type Measure } from "../../../report/measures";
import { count, counted, duration, percent } from "../../../text/formats";
import { kindText } from "../../../text/names";
import { NodeTable } from "../Notices";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitions";
import { CallChart } from "./CallChart";
import {
  amountOf,
  kernelRows,
  nodeRows,
  type Scope,
  SCOPES,
  type Side,
  SIDES,
} from "./moduleDetail";

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
      {!isUnseen(module) && (
        <CallChart report={report} calls={value.calls} clock={device ? clock : "host"} />
      )}
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

interface KernelListProps {
  detail: ModuleDetail;
  side: Side;
  scope: Scope;
  by: number;
}

/** The device events of one direction by name, most expensive first. */
function KernelList({ detail, side, scope, by }: KernelListProps): ReactElement {
  const rows = kernelRows(detail, side, scope);
  const [shown, more] = useMore(rows);
  return (
    <section aria-label="Kernels">
      <h3>
        <Term text={D.kernel.text}>Kernels in {side}</Term>
      </h3>
      {rows.length === 0 && <p className="muted">None.</p>}
      <ul className="amounts">
        {shown.map(({ kernel, us, count: times, share }) => (
          <li
            key={`${kernel.kind} ${kernel.event} ${kernel.name}`}
            title={`${kindText(kernel.kind)}${kernel.tensor_core === true ? ", on tensor cores" : ""}, ${percent(share)} of these`}
          >
            <Name kernel text={kernel.name} className="code" />
            <span className="muted">{count(times / by)}×</span>
            <span>{duration(us / by)}</span>
            <span className={`share-bar ${side}`} style={{ width: `${share * 100}%` }} />
          </li>
        ))}
      </ul>
      {more}
      <Omitted detail={detail} side={side} scope={scope} by={by} />
    </section>
  );
}

function Omitted({ detail, side, scope, by }: KernelListProps): ReactElement | null {
  const omitted = detail.kernels_omitted;
  if (omitted === null) return null;
  const [times, us] = amountOf(omitted[side], scope);
  return (
    <p className="muted">
      {counted(omitted.names, "more name")} left out: {count(times / by)}×, {duration(us / by)}.
    </p>
  );
}

interface NodeListProps {
  detail: ModuleDetail;
  scope: Scope;
  by: number;
}

/** What autograd ran for the module, by name. */
function NodeList({ detail, scope, by }: NodeListProps): ReactElement | null {
  const rows = nodeRows(detail.nodes, scope);
  const { nodes_omitted: omitted } = detail;
  if (detail.nodes.length === 0) return null;
  return (
    <section aria-label="Autograd nodes">
      <h3>
        <Term text={D.node.text}>Autograd nodes</Term>
      </h3>
      <NodeTable rows={rows} by={by} />
      {rows.length === 0 && <p className="muted">None of its own.</p>}
      {omitted !== null && <p className="muted">{counted(omitted.names, "more name")} left out.</p>}
    </section>
  );
}
