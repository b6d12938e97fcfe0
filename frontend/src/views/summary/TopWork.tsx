import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { Term } from "../../components/Tip";
import { ShareBar } from "../../components/charts";
import { PlaceLink } from "../../parts/PlaceLink";
import { perText } from "../../report/findings";
import { hostOperators, topKernels, type WorkRow } from "../../report/topWork";
import { duration, percent } from "../../text/formats";
import { differences } from "../../text/kernelName";
import { Block } from "./Blocks";
import {
  SUMMARY_OPERATOR_DEFINITIONS as D,
  TOP_KERNEL_DEFINITIONS as KERNELS,
  SUMMARY_OPERATOR_DEFINITIONS,
} from "./definitions";

const MOST = 6;
const OPERATORS = {
  time: SUMMARY_OPERATOR_DEFINITIONS.self,
  share: SUMMARY_OPERATOR_DEFINITIONS.share,
};

/** What takes the time where no module does: kernels, or operators of a trace without a device. */
export function TopWork({ report }: { report: ReportData }): ReactElement | null {
  const kernels = topKernels(report, MOST);
  const rows = kernels.length > 0 ? kernels : hostOperators(report, MOST);
  const view = kernels.length > 0 ? "kernels" : "operators";
  if (rows.length === 0) return null;
  const D = kernels.length > 0 ? KERNELS : OPERATORS;
  return (
    <WorkTable
      head={
        <thead>
          <tr>
            <th scope="col">
              <PlaceLink to={{ view, search: "", sort: null }}>{view.slice(0, -1)}</PlaceLink>
            </th>
            <th scope="col">
              <Term text={D.time.text}>time {perText(report)}</Term>
            </th>
            <th scope="col" colSpan={2}>
              <Term text={D.share.text}>{D.share.title}</Term>
            </th>
          </tr>
        </thead>
      }
      rows={rows}
      kernel={kernels.length > 0}
    />
  );
}

/** Operators or kernels with their time and its share; `shown` shortens a name. */
function WorkTable({
  head,
  rows,
  kernel = false,
}: {
  head: ReactElement;
  rows: readonly WorkRow[];
  /** Whether the rows are kernels. */
  kernel?: boolean;
}): ReactElement {
  const apart = kernel ? differences(rows.map(({ name }) => name)) : null;
  return (
    <SmallTable
      className="shares"
      head={head}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        [
          null,
          ({ name }) => (
            <>
              <Name kernel={kernel} text={name} className="code" />{" "}
              <Name text={apart?.get(name) ?? ""} className="muted" />
            </>
          ),
        ],
        [null, ({ us }) => duration(us)],
        [null, ({ share }) => percent(share)],
        [null, ({ share }) => <ShareBar share={share} />, "bar-cell"],
      ]}
    />
  );
}

const MOST_OPERATORS = 10;

/** Where the host's time goes, of a trace without a device; nothing where there is one. */
export function HostOperators({ report }: { report: ReportData }): ReactElement | null {
  const rows = report.trace.devices.length === 0 ? hostOperators(report, MOST_OPERATORS) : [];
  if (rows.length === 0) return null;
  return (
    <Block
      title="Most expensive operators"
      note="self host time per step"
      from={{ view: "operators", title: "All operators" }}
    >
      <WorkTable head={<Heads of={[D.operator, D.self, { ...D.share, span: 2 }]} />} rows={rows} />
      {atOnce(report) && (
        <p className="muted">
          More than a step, because the times of concurrent threads are summed.
        </p>
      )}
    </Block>
  );
}

/** Whether operators took more time on the host than the steps, which takes several threads. */
export function atOnce({ operators, steps }: ReportData): boolean {
  const whole = steps.reduce((sum, { duration_us: us }) => sum + us, 0);
  return operators.reduce((sum, { self_host_us: us }) => sum + us, 0) > whole;
}
