import type { ReactElement } from "react";

import type { ModuleDetail } from "../../../api/schema";
import { useMore } from "../../../components/more";
import { Name } from "../../../components/Name";
import { Term } from "../../../components/Tip";
import { count, counted, duration, percent } from "../../../text/formats";
import { kindText } from "../../../text/names";
import { NodeTable } from "../NodeTable";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitions";
import { amountOf, kernelRows, nodeRows, type Scope, type Side } from "./moduleDetail";

interface KernelListProps {
  detail: ModuleDetail;
  side: Side;
  scope: Scope;
  by: number;
}

/** The device events of one direction by name, most expensive first. */
export function KernelList({ detail, side, scope, by }: KernelListProps): ReactElement {
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
export function NodeList({ detail, scope, by }: NodeListProps): ReactElement | null {
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
