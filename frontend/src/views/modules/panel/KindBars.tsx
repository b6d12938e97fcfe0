import type { ReactElement } from "react";

import type { WireModule } from "../../../api/types";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitionsModules";
import { duration } from "../../../text/formats";
import { kindRows } from "./moduleDetail";
import { Term } from "../../../components/Tip";

/** What kind of work the module's device time is, forward above backward. */
export function KindBars({ module, by }: { module: WireModule; by: number }): ReactElement | null {
  const rows = kindRows(module);
  if (rows.length === 0) return null;
  const most = Math.max(...rows.flatMap(({ forward, backward }) => [forward, backward]));
  return (
    <section aria-label="Kinds of work">
      <table className="small-table kinds">
        <thead>
          <tr>
            <th scope="col">
              <Term text={D.kind.text}>kind of work</Term>
            </th>
            <td />
            <th scope="col" className="forward">
              forward
            </th>
            <th scope="col" className="backward">
              backward
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ kind, forward, backward }) => (
            <tr key={kind}>
              <th scope="row">{kind}</th>
              <td className="kind-bars" aria-hidden="true">
                <span className="forward" style={{ width: `${(forward / most) * 100}%` }} />
                <span className="backward" style={{ width: `${(backward / most) * 100}%` }} />
              </td>
              <td>{forward === 0 ? "—" : duration(forward / by)}</td>
              <td>{backward === 0 ? "—" : duration(backward / by)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
