import type { ReportData } from "../../../api/schema";
import { meanStep } from "../../../report/measures";
import { avoidable, isHighlighted, lostIn } from "../../../report/syncs";
import { lengthOf, type Span } from "../../../text/span";

/** A time in which the host waited for the device. */
export interface Sync extends Span {
  /** Long enough that someone should look, by the measure of all views. */
  readonly look: boolean;
}

/** Syncs that cost little are marked where they take at least this many pixels. */
const CLOSE = 24;

/** The syncs of a report that somebody could do without, by start. */
export function syncMarksOf(report: ReportData): Sync[] {
  const step = meanStep(report);
  return avoidable(report.syncs)
    .map((sync): Sync => {
      const from = sync.start_us - report.trace.start_us;
      const lost = lostIn(sync.duration_us, sync.device_idle_us);
      return { from, to: from + sync.duration_us, look: isHighlighted(lost, step) };
    })
    .sort((a, b) => a.from - b.from);
}

/**
 * Where syncs end that one should look at, or the others, in pixels, no two closer than one: from
 * there the host goes on.
 */
export function syncMarks(
  syncs: readonly Sync[],
  span: Span,
  width: number,
  look: boolean,
): number[] {
  const scale = width / lengthOf(span);
  const places = syncs
    .filter((sync) => sync.look === look && (look || lengthOf(sync) * scale >= CLOSE))
    .map((sync) => Math.round((sync.to - span.from) * scale))
    .filter((x) => x >= 0 && x < width);
  return [...new Set(places)].sort((a, b) => a - b);
}
