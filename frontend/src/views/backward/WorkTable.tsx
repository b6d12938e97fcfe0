import type { ReactElement } from "react";

import type { WireModule, WireWork } from "../../api/types";
import { count, duration, times } from "../../model/formats";
import { communicationOf, over, ratio, without } from "../../model/measures";

interface WorkTableProps {
  module: WireModule;
  by: number;
}

/** Stands below the total that it is a part of. */
const SELF = "self";

type Line = [title: string, render: (work: WireWork) => string];

/** Forward, backward and recomputed work of one module, side by side. */
export function WorkTable({ module, by }: WorkTableProps): ReactElement {
  const { forward, backward, recompute } = module;
  const sides: [string, WireWork][] = [
    ["forward", forward],
    ["backward", backward],
    ...(recompute === null ? [] : [["recompute", recompute] as [string, WireWork]]),
  ];
  const ratioText = times(
    ratio(without(backward.device_us, communicationOf(module, "device")), forward.device_us) ??
      ratio(backward.host_us, forward.host_us),
  );
  return (
    <table className="small-table">
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
        {linesFor(by).map(([title, render], index) => (
          <tr key={index}>
            <th scope="row" className={title === SELF ? "sub" : ""}>
              {title}
            </th>
            {sides.map(([name, work]) => (
              <td key={name}>{render(work)}</td>
            ))}
          </tr>
        ))}
        <tr>
          <th scope="row">bwd / fwd</th>
          <td />
          <td>{ratioText}</td>
          {recompute !== null && <td />}
        </tr>
      </tbody>
    </table>
  );
}

function linesFor(by: number): Line[] {
  return [
    ["device", (work) => duration(over(work.device_us, by))],
    [SELF, (work) => duration(over(work.self_device_us, by))],
    ["host", (work) => duration(over(work.host_us, by))],
    [SELF, (work) => duration(over(work.self_host_us, by))],
    ["kernels", (work) => count(over(work.kernels, by))],
  ];
}
