import type { ReactElement } from "react";

import { inTimeline } from "../../address/links";
import type { Place } from "../../address/place";
import type { ReportData } from "../../api/schema";
import { SmallTable } from "../../components/SmallTable";
import { PlaceLink } from "../../parts/PlaceLink";
import type { SyncRow } from "../../report/syncs";
import { counted, duration, instant, NOTHING } from "../../text/formats";
import { stepLabel } from "../../text/names";
import { EXAMPLE_DEFINITIONS as D } from "./definitions";
import type { FindingExample, FindingRow } from "./findings";

const FIRST = 5;

interface ExamplesProps {
  report: ReportData;
  row: FindingRow;
}

/** Where it was seen: each leads to the timeline, a sync to its chain as well. */
export function Examples({ report, row }: ExamplesProps): ReactElement {
  const { finding, examples } = row;
  return (
    <section aria-label="Examples">
      <h3>
        Seen {counted(finding.count, "time")}
        {examples.length > 0 && examples.length < finding.count && `; the first ${examples.length}`}
      </h3>
      {examples.length === 0 ? (
        <p className="muted">It concerns the steps as a whole: no single event shows it.</p>
      ) : (
        <SmallTable
          className="examples"
          first={FIRST}
          rows={examples}
          keyOf={(example) => example.start_us}
          columns={[
            [D.start, (example) => instant(example.start)],
            ["step", ({ step }) => <bdi>{step === null ? NOTHING : stepLabel(step)}</bdi>],
            [D.length, ({ length }) => duration(length)],
            ["show", (example) => <Show report={report} example={example} />],
          ]}
        />
      )}
    </section>
  );
}

function Show({ report, example }: { report: ReportData; example: FindingExample }): ReactElement {
  const { sync } = example;
  return (
    <>
      <PlaceLink to={exampleInTimeline(report, example)}>timeline</PlaceLink>
      {sync !== null && (
        <>
          {" · "}
          <PlaceLink
            to={{
              ...{ view: "syncs", sync: sync.id, search: "", sort: null },
              ...{ phase: null, cause: null },
            }}
          >
            sync
          </PlaceLink>
        </>
      )}
    </>
  );
}

const AROUND_US = 500;

/** The longest sync among a finding's examples; null where they are no syncs. */
export function longestSync(row: FindingRow): SyncRow | null {
  return row.examples.reduce<SyncRow | null>(
    (most, { sync }) =>
      sync !== null && (most === null || sync.sync.duration_us > most.sync.duration_us)
        ? sync
        : most,
    null,
  );
}

/** Where the timeline shows an example: what begins there, selected and in full, else the surroundings. */
export function exampleInTimeline(
  report: Pick<ReportData, "trace">,
  example: FindingExample,
): Partial<Place> {
  const { start, length, event } = example;
  if (length !== null) return inTimeline(report, example.start_us, length, event);
  return {
    ...inTimeline(report, example.start_us, 0),
    shown: { from: start - AROUND_US, to: start + AROUND_US },
  };
}
