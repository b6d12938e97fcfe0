import type { WireReport } from "../../api/types";
import type { FindingExample, FindingRow } from "../../report/findings";
import type { Place } from "../../address/place";
import type { SyncRow } from "../../report/syncs";
import { inTimeline } from "../../address/link";

/** How much of the timeline is shown around a moment of no known length. */
const AROUND_US = 500;

/** The longest wait among a finding's examples; null where they are no waits. */
export function longestWait(row: FindingRow): SyncRow | null {
  return row.examples.reduce<SyncRow | null>(
    (most, { wait }) =>
      wait !== null && (most === null || wait.sync.duration_us > most.sync.duration_us)
        ? wait
        : most,
    null,
  );
}

/** Where the timeline shows an example: the whole of a wait, the surroundings of anything else. */
export function exampleInTimeline(
  report: Pick<WireReport, "trace">,
  example: FindingExample,
): Partial<Place> {
  if (example.wait !== null) {
    return inTimeline(report, example.start_us, example.wait.sync.duration_us);
  }
  const { start } = example;
  return {
    ...inTimeline(report, example.start_us, 0),
    shown: { from: start - AROUND_US, to: start + AROUND_US },
  };
}
