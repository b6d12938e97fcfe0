import type { ReactElement } from "react";

import type { WireMemoryModule } from "../../api/types";
import { useMore } from "../../components/more";
import { Name } from "../../components/Name";
import { Term } from "../../components/Tip";
import { bytes, count, duration } from "../../text/formats";
import { moduleText } from "./AtPeak";
import { MEMORY_DEFINITIONS as OF } from "./definitions";

/** Modules by how long their activations live. */
export function Activations({ rows }: { rows: readonly WireMemoryModule[] }): ReactElement {
  const saving = rows
    .filter((row) => row.activations > 0)
    .sort((a, b) => (b.activation_lifetime_us ?? 0) - (a.activation_lifetime_us ?? 0));
  const [shown, more] = useMore(saving, 30);
  if (saving.length === 0) {
    return <p className="notice">No activation is saved for a backward pass in these steps.</p>;
  }
  return (
    <>
      <table className="small-table memory-table">
        <thead>
          <tr>
            <th scope="col">module</th>
            <th scope="col">count</th>
            {[OF.activations, OF.lifetime, OF.longest].map(({ title, text }) => (
              <th key={title} scope="col">
                <Term text={text}>{title}</Term>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <Name text={moduleText(row.module)} className="code" />
              </th>
              <td>{count(row.activations)}</td>
              <td>{bytes(row.activation_bytes)}</td>
              <td>{duration(row.activation_lifetime_us)}</td>
              <td>{duration(row.activation_longest_us)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}
