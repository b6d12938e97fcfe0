import type { ReactElement } from "react";

import type { WireModuleDetail } from "../../../api/module";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitionsModules";
import { count, counted, duration } from "../../../text/formats";
import { nodeRows, type Scope } from "./moduleDetail";
import { Name } from "../../../components/Name";
import { Term } from "../../../components/Tip";
import { useMore } from "./useMore";

interface NodeListProps {
  detail: WireModuleDetail;
  scope: Scope;
  by: number;
}

/** What autograd ran for the module, by name. */
export function NodeList({ detail, scope, by }: NodeListProps): ReactElement | null {
  const rows = nodeRows(detail.nodes, scope);
  const [shown, more] = useMore(rows);
  const { nodes_omitted: omitted } = detail;
  if (detail.nodes.length === 0) return null;
  return (
    <section aria-label="Autograd nodes">
      <h3>
        <Term text={D.node.text}>Autograd nodes</Term>
      </h3>
      <table className="small-table nodes">
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col">count</th>
            <th scope="col">device</th>
            <th scope="col">host</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <Name text={row.name.replace("torch::autograd::", "")} className="code" />
              </th>
              <td>{count(row.count / by)}</td>
              <td>{duration(row.device === null ? null : row.device / by)}</td>
              <td>{duration(row.host / by)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="muted">None of its own.</p>}
      {more}
      {omitted !== null && <p className="muted">{counted(omitted.names, "more name")} left out.</p>}
    </section>
  );
}
