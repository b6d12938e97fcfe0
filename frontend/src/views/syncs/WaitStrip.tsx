import { useMemo, type ReactElement } from "react";

import type { WireReport } from "../../api/types";
import { WAIT_DEFINITIONS as D } from "./definitions";
import { counted, duration } from "../../text/formats";
import { shortStep } from "../../text/syncText";
import type { SyncRow } from "../../report/syncs";
import { stripBins, stripSpan, stripSteps, type StripBin } from "./stripBins";

const BINS = 240;

interface WaitStripProps {
  report: WireReport;
  /** All waits, which set the scale. */
  all: readonly SyncRow[];
  /** Those that are drawn. */
  rows: readonly SyncRow[];
  /** Those that are selected; null for no selection. */
  selected: ReadonlySet<string> | null;
  onSelect: (id: string) => void;
}

/** When the host waits: the trace from left to right, full height where it does nothing else. */
export function WaitStrip(props: WaitStripProps): ReactElement | null {
  const { report, all, rows, selected, onSelect } = props;
  const span = useMemo(() => stripSpan(report, all), [report, all]);
  const bins = useMemo(() => stripBins(report, rows, span, BINS), [report, rows, span]);
  const steps = useMemo(() => stripSteps(report, span), [report, span]);
  if (all.length === 0) return null;
  return (
    <div
      className="picture wait-strip"
      role="img"
      title={D.strip.text}
      aria-label={`${counted(rows.length, "wait")} over ${counted(steps.length, "step")}; the table lists them.`}
    >
      {steps.map((step) => (
        <span key={step.name} className="strip-step" style={across(step)}>
          <bdi>{shortStep(step.name)}</bdi>
        </span>
      ))}
      {bins.map((bin) => (
        <span
          key={bin.from}
          className={`strip-bin ${bin.look ? "look" : ""} ${markOf(bin, selected)}`}
          style={across(bin)}
          title={`${counted(bin.rows.length, "wait")}, ${duration(bin.us)} of the host`}
          onClick={() => {
            onSelect(bin.longest.id);
          }}
        >
          <span style={{ height: `${Math.max(10, bin.blocked * 100)}%` }} />
        </span>
      ))}
    </div>
  );
}

function markOf(bin: StripBin, selected: ReadonlySet<string> | null): string {
  if (selected === null) return "";
  return bin.rows.some((row) => selected.has(row.id)) ? "" : "faded";
}

function across(part: { from: number; width: number }): { left: string; width: string } {
  return { left: `${part.from * 100}%`, width: `${part.width * 100}%` };
}
