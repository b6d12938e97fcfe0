import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { Heads } from "../../components/Heads";
import { ShareBar } from "../../components/charts";
import { Name } from "../../components/Name";
import { duration, percent } from "../../text/formats";
import { ratio } from "../../text/numbers";
import { Block } from "./Blocks";
import { SUMMARY_OPERATOR_DEFINITIONS as D } from "./definitions";

const MOST = 10;

/** Where the host's time goes, of a trace without a device; nothing where there is one. */
export function HostOperators({ report }: { report: WireReport }): ReactElement | null {
  const rows = report.trace.devices.length === 0 ? hostOperators(report, MOST) : [];
  if (rows.length === 0) return null;
  return (
    <Block
      title="Most expensive operators"
      note="self host time per step"
      from={{ view: "operators", title: "All operators" }}
    >
      <table className="small-table shares">
        <Heads of={[D.operator, D.self, { ...D.share, span: 2 }]} />
        <tbody>
          {rows.map(({ id, name, us, share }) => (
            <tr key={id}>
              <th scope="row">
                <Name text={name} className="code" />
              </th>
              <td>{duration(us)}</td>
              <td>{percent(share)}</td>
              <td className="bar-cell">
                <ShareBar share={share} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {atOnce(report) && (
        <p className="muted">
          Longer than a step, as several threads ran at once: the times are summed over threads.
        </p>
      )}
    </Block>
  );
}

interface HostOperator {
  readonly id: number;
  readonly name: string;
  /** Microseconds per step. */
  readonly us: number;
  /** Of the self time of all operators, 0 to 1. */
  readonly share: number | null;
}

/** Whether operators took more time on the host than the steps, which takes several threads. */
export function atOnce({ operators, steps }: WireReport): boolean {
  const whole = steps.reduce((sum, { duration_us: us }) => sum + us, 0);
  return operators.reduce((sum, { self_host_us: us }) => sum + us, 0) > whole;
}

/** The operators with the most self time on the host. */
export function hostOperators({ operators, steps }: WireReport, most: number): HostOperator[] {
  const whole = operators.reduce((sum, { self_host_us: us }) => sum + us, 0);
  return operators
    .filter(({ self_host_us: us }) => us > 0)
    .sort((a, b) => b.self_host_us - a.self_host_us)
    .slice(0, most)
    .map(({ id, name, self_host_us: us }) => ({
      id,
      name,
      us: us / Math.max(1, steps.length),
      share: ratio(us, whole),
    }));
}
