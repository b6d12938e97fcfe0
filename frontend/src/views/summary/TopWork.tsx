import type { ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { SmallTable } from "../../components/SmallTable";
import { Term } from "../../components/Tip";
import { ShareBar } from "../../components/charts";
import { PlaceLink } from "../../parts/PlaceLink";
import { perText } from "../../report/findings";
import { stepWord } from "../../report/measures";
import { hostOperators, topKernels } from "../../report/topWork";
import { duration, percent } from "../../text/formats";
import { differences } from "../../text/kernelName";
import { SUMMARY_OPERATOR_DEFINITIONS as OPERATORS, TOP_KERNEL_DEFINITIONS } from "./definitions";

const MOST = 6;

/** What takes the time where no module does: kernels, or operators of a trace without a device. */
export function TopWork({ report }: { report: ReportData }): ReactElement | null {
  const kernels = topKernels(report, MOST);
  const kernel = kernels.length > 0;
  const rows = kernel ? kernels : hostOperators(report, MOST);
  if (rows.length === 0) return null;
  const D = kernel ? TOP_KERNEL_DEFINITIONS : OPERATORS;
  const apart = kernel ? differences(rows.map(({ name }) => name)) : null;
  return (
    <>
      <SmallTable
        className="shares"
        head={
          <thead>
            <tr>
              <th scope="col">
                <PlaceLink to={{ view: kernel ? "kernels" : "operators", search: "", sort: null }}>
                  {kernel ? "kernel" : "operator"}
                </PlaceLink>
              </th>
              <th scope="col">
                <Term text={D.time.text}>{`${D.time.title} ${perText(report)}`}</Term>
              </th>
              <th scope="col" colSpan={2}>
                <Term text={D.share.text}>{D.share.title}</Term>
              </th>
            </tr>
          </thead>
        }
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
      {!kernel && atOnce(report) && (
        <p className="muted">
          All operators take longer than the {stepWord(report)}: concurrent threads are summed.
        </p>
      )}
    </>
  );
}

/** Whether the host is all that was recorded. */
export function onHost({ trace }: ReportData): boolean {
  return trace.devices.length === 0;
}

/** Whether operators took more time on the host than the steps, which takes several threads. */
export function atOnce({ operators, steps }: ReportData): boolean {
  const whole = steps.reduce((sum, { duration_us: us }) => sum + us, 0);
  return operators.reduce((sum, { self_host_us: us }) => sum + us, 0) > whole;
}
