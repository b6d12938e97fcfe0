import type { ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { stepBars, type DevicePart, type Part } from "../../report/stepBars";
import { duration, percent } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { BreakdownBlock, Kinds } from "./Blocks";
import { Devices } from "./Devices";
import { HostOperators } from "./HostOperators";
import { Coverage, DataQuality, SevereWarnings, TraceBlock } from "./Quality";
import { StepsChart } from "./StepsChart";
import { SummaryFigures, summaryFigures } from "./SummaryFigures";
import { TopFindings } from "./TopFindings";
import { TopModules } from "./TopModules";
import { kindRows } from "./tables";

interface SummaryViewProps {
  report: WireReport;
  /** Of all steps, whatever step is shown. */
  whole: WireReport;
}

/** Which module to open and what to change, in a minute. */
export function SummaryView({ report, whole }: SummaryViewProps): ReactElement {
  return (
    <div className="view">
      <div className="view-main summary">
        <SevereWarnings report={report} />
        <div className="summary-head">
          <SummaryFigures report={report} />
          <p className="verdict">{verdict(report)}</p>
          <p className="muted">{meansText(report, whole)}</p>
        </div>
        <StepsChart whole={whole} />
        <div className="summary-first">
          <TopFindings report={report} />
          <div className="facets">
            <TopModules report={report} />
            <Devices report={report} />
          </div>
        </div>
        <div className="summary-more">
          <Kinds report={report} />
          <HostOperators report={report} />
          <BreakdownBlock report={report} />
          <Coverage report={report} />
          <DataQuality report={report} />
          <TraceBlock report={report} />
        </div>
      </div>
    </div>
  );
}

/** Of which steps the figures are, and what of the device's work is in none of them. */
export function meansText(report: WireReport, whole: WireReport): string {
  const text = `All times a step: ${report.per_step.text}.`;
  const held = whole.steps.filter((step) => (step.launched_before_us ?? 0) > 0);
  if (held.length === 0) return text;
  const parts = held.map(
    (step) => `step ${stepLabel(step.name)} (${duration(step.launched_before_us)})`,
  );
  return `${text} Device events that were launched before the trace began are in no step's sums; they ran in ${parts.join(", ")}.`;
}

/** Idle for less of the step than this is no reason to look at the host. */
const IDLE_WORTH_SAYING = 0.05;

const BECAUSE: Readonly<Record<Exclude<DevicePart, "busy">, string>> = {
  sync: "in syncs, as the host waits for the device",
  data_loading: "as the host loads data",
  copy: "as the host copies unpinned memory",
  allocator: "as the host allocates or frees memory",
  kernel_loading: "as the host loads kernels on their first use",
  launch: "waiting for the host to launch",
  communication: "because of communication",
  profiler: "because of the profiler",
  device: "although work is queued",
  unknown: "for reasons that are not in the trace",
};

/** What limits the step, in one sentence: whether to look at the device or at the host. */
export function verdict(report: WireReport): string {
  const { step, busy, backward } = summaryFigures(report);
  if (step === null) return "This trace holds no step.";
  if (busy === null) {
    return `A step takes ${duration(step)} on the host; the trace holds no device events.`;
  }
  const idle = 1 - busy;
  const pass = backward === null ? "There is no backward pass in these steps. " : "";
  if (idle < IDLE_WORTH_SAYING) {
    return `${pass}The device is busy for ${percent(busy)} of a step${kindText(report)}.`;
  }
  const [cause, share] = largestIdle(report, step);
  return `${pass}The device is idle for ${percent(idle)} of a step, ${percent(share)} ${BECAUSE[cause]}.`;
}

/** What the device is busy with, most of all. */
function kindText(report: WireReport): string {
  const [most] = kindRows(report);
  if (most === undefined || most.share === null) return "";
  return `; ${percent(most.share)} of its work is ${most.key}`;
}

function largestIdle(
  report: WireReport,
  step: number,
): [cause: Exclude<DevicePart, "busy">, share: number] {
  const parts: readonly Part<DevicePart>[] = stepBars(report)[0]?.device ?? [];
  let most: [Exclude<DevicePart, "busy">, number] = ["unknown", 0];
  for (const { key, us } of parts) {
    if (key !== "busy" && us > most[1]) most = [key, us];
  }
  return [most[0], most[1] / step];
}
