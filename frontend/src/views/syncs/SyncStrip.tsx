import { useMemo, type ReactElement } from "react";

import type { ReportData } from "../../api/schema";
import { useWords } from "../../components/words";
import { meanStep } from "../../report/measures";
import { avoidable, isHighlighted, lostIn, type SyncRow } from "../../report/syncs";
import { counted, duration } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { colourOf } from "../../theme/colours";
import type { Span } from "../../text/span";
import { SYNC_FACT_DEFINITIONS as D } from "./definitions";

const BINS = 240;

interface SyncStripProps {
  report: ReportData;
  /** All syncs, which set the scale. */
  all: readonly SyncRow[];
  /** Those that are drawn. */
  rows: readonly SyncRow[];
  /** Those that are selected; null for no selection. */
  selected: ReadonlySet<string> | null;
  onSelect: (id: string) => void;
}

/** When the host waits: the trace from left to right, full height where it does nothing else. */
export function SyncStrip(props: SyncStripProps): ReactElement | null {
  const { report, all, rows, selected, onSelect } = props;
  const words = useWords();
  const span = useMemo(() => stripSpan(report, all), [report, all]);
  const bins = useMemo(() => stripBins(report, rows, span, BINS), [report, rows, span]);
  const steps = useMemo(() => stripSteps(report, span), [report, span]);
  if (all.length === 0) return null;
  return (
    <figure className="sync-strip-figure">
      <div
        className="picture sync-strip"
        role="img"
        title={words(D.strip.text)}
        aria-label={`${counted(rows.length, "sync")} over ${report.per_step.marked ? counted(steps.length, "step") : "the trace"}; the table lists them.`}
      >
        {steps.map((step) => (
          <span key={step.id} className="strip-step" style={across(step)}>
            <bdi>{stepLabel(step.name)}</bdi>
          </span>
        ))}
        {bins.map((bin) => (
          <span
            key={bin.from}
            className={`strip-bin ${bin.look ? "look" : ""} ${markOf(bin, selected)}`}
            style={across(bin)}
            title={`${counted(bin.rows.length, "sync")}, ${duration(bin.us)} of the host`}
            onClick={() => onSelect(bin.longest.id)}
          >
            <span style={{ height: `${Math.max(10, bin.blocked * 100)}%` }} />
          </span>
        ))}
      </div>
      <figcaption className="muted">
        <span>{words("Steps")} from left to right; height: time blocked.</span>
        <span>
          <span className="swatch" style={{ background: colourOf("wait") }} />
          the device idles meanwhile
        </span>
        <span>
          <span className="swatch" style={{ background: colourOf("idle") }} />
          it is at work, or it costs little
        </span>
      </figcaption>
    </figure>
  );
}

function markOf(bin: StripBin, selected: ReadonlySet<string> | null): string {
  if (selected === null) return "";
  return bin.rows.some((row) => selected.has(row.id)) ? "" : "faded";
}

function across(part: { from: number; width: number }): { left: string; width: string } {
  return { left: `${part.from * 100}%`, width: `${part.width * 100}%` };
}

/** A slice of the trace in which the host waits; `from` and `width` are fractions of all of it. */
interface StripBin {
  readonly from: number;
  readonly width: number;
  /** Share of the slice in which some sync goes on, at most 1. */
  readonly blocked: number;
  /** Host time of syncs in the slice, in microseconds. */
  readonly us: number;
  readonly rows: readonly SyncRow[];
  /** The longest of them, which the slice leads to. */
  readonly longest: SyncRow;
  /** Whether one of them deserves a look. */
  readonly look: boolean;
}

export interface StripStep {
  readonly id: number;
  readonly name: string;
  readonly from: number;
  readonly width: number;
}

/** The time that steps and syncs take up together, since the beginning of the trace. */
export function stripSpan(report: ReportData, rows: readonly SyncRow[]): Span {
  const begin = report.trace.start_us;
  const starts = [
    ...report.steps.map((step) => step.start_us - begin),
    ...rows.map((row) => row.start),
  ];
  const ends = [
    ...report.steps.map((step) => step.start_us - begin + step.duration_us),
    ...rows.map((row) => row.start + row.sync.duration_us),
  ];
  const from = least(starts);
  return { from, to: Math.max(most(ends), from + 1) };
}

export function stripSteps(report: ReportData, span: Span): StripStep[] {
  const whole = span.to - span.from;
  return report.steps.map(({ id, name, start_us: start, duration_us: length }) => ({
    id,
    name,
    from: (start - report.trace.start_us - span.from) / whole,
    width: length / whole,
  }));
}

/** The slices of equal length in which there is a sync. */
export function stripBins(
  report: ReportData,
  rows: readonly SyncRow[],
  span: Span,
  bins: number,
): StripBin[] {
  const width = (span.to - span.from) / bins;
  const step = meanStep(report);
  const found = new Map<number, { us: number; rows: SyncRow[] }>();
  for (const row of rows) {
    const end = row.start + row.sync.duration_us;
    const first = Math.min(bins - 1, Math.floor((row.start - span.from) / width));
    const last = Math.max(first, Math.min(bins - 1, Math.ceil((end - span.from) / width) - 1));
    for (let bin = first; bin <= last; bin++) {
      const left = span.from + bin * width;
      const us = Math.max(0, Math.min(end, left + width) - Math.max(row.start, left));
      const slice = found.get(bin) ?? { us: 0, rows: [] };
      slice.us += us;
      slice.rows.push(row);
      found.set(bin, slice);
    }
  }
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([bin, slice]) => ({
      from: bin / bins,
      width: 1 / bins,
      blocked: Math.min(1, slice.us / width),
      us: slice.us,
      rows: slice.rows,
      longest: slice.rows.reduce((a, b) => (b.sync.duration_us > a.sync.duration_us ? b : a)),
      look: slice.rows.some(
        ({ sync }) =>
          avoidable([sync]).length > 0 &&
          isHighlighted(lostIn(sync.duration_us, sync.device_idle_us), step),
      ),
    }));
}

// Not Math.min(...): a trace may hold more syncs than a call takes arguments.
function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), values[0] ?? 0);
}

function most(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), values[0] ?? 0);
}
