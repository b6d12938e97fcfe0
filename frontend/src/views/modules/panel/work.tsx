import type { ReactElement } from "react";

import type { Module, Work } from "../../../api/schema";
import { Term } from "../../../components/Tip";
import { count, duration, NOTHING, percent, times } from "../../../text/formats";
import { kindText } from "../../../text/names";
import { over } from "../../../text/numbers";
import { MODULE_PANEL_DEFINITIONS as D } from "../definitions";
import { kindRows, tensorCoreShare } from "./moduleDetail";

interface WorkTableProps {
  module: Module;
  by: number;
}

/** Stands below the total that it is a part of. */
const SELF = "self";

type Line = [title: string, render: (work: Work) => string, meaning?: string];

/** Forward, backward and recomputed work of one module, side by side. */
export function WorkTable({ module, by }: WorkTableProps): ReactElement {
  const { forward, backward, recompute, occupancy_pct: occupancy } = module;
  const loading = module.kernel_loading_us;
  const sides: [string, Work][] = [
    ["forward", forward],
    ["backward", backward],
    ...(recompute === null ? [] : [["recompute", recompute] as [string, Work]]),
  ];
  const lines = linesFor(by).filter(([, render]) =>
    sides.some(([, work]) => render(work) !== NOTHING),
  );
  return (
    <table className="small-table work">
      <thead>
        <tr>
          <th scope="col">work</th>
          {sides.map(([name]) => (
            <th key={name} scope="col" className={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map(([title, render, meaning], index) => (
          <tr key={index}>
            <th scope="row" className={title === SELF ? "sub" : ""}>
              {meaning === undefined ? title : <Term text={meaning}>{title}</Term>}
            </th>
            {sides.map(([name, work]) => (
              <td key={name}>{render(work)}</td>
            ))}
          </tr>
        ))}
        <tr>
          <th scope="row">bwd / fwd</th>
          <td />
          <td>{times(module.backward_ratio)}</td>
          {recompute !== null && <td />}
        </tr>
        {loading !== null && loading > 0 && (
          <tr>
            <th scope="row">
              <Term text={D.kernelLoading.text}>{D.kernelLoading.title}</Term>
            </th>
            <td colSpan={sides.length}>{duration(loading / by)} of host</td>
          </tr>
        )}
        {occupancy !== null && (
          <tr>
            <th scope="row">
              <Term text={D.occupancy.text}>occupancy</Term>
            </th>
            <td colSpan={sides.length}>{percent(occupancy / 100)}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function linesFor(by: number): Line[] {
  return [
    ["device", (work) => duration(over(work.compute_us, by))],
    [SELF, (work) => duration(over(work.self_compute_us, by))],
    ["collectives", communication(by), D.collectives.text],
    ["host", (work) => duration(over(work.host_us, by))],
    [SELF, (work) => duration(over(work.self_host_us, by))],
    ["kernels", (work) => count(over(work.kernels, by))],
    ["tensor cores", (work) => percent(tensorCoreShare(work)), D.tensorCore.text],
  ];
}

function communication(by: number): (work: Work) => string {
  return ({ communication_us: us }) => (us === 0 ? NOTHING : duration(over(us, by)));
}

/** What kind of work the module's device time is, forward above backward. */
export function KindBars({ module, by }: { module: Module; by: number }): ReactElement | null {
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
              <th scope="row">{kindText(kind)}</th>
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
