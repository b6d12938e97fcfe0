import type { ReactElement } from "react";

import { inTimeline } from "../../address/links";
import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { ShowModule } from "../../parts/ShowModule";
import { EventList, RowPanel } from "../../parts/serverTable/RowPanel";
import { numberOf, rowsOf, type TableRow, textOf, useRows } from "../../parts/serverTable/rows";
import { count, instant } from "../../text/formats";
import type { KernelGroup } from "./address";
import { KERNEL_TABLES, kernelColumns } from "./columns";
import { KERNEL_PANEL_DEFINITIONS as D } from "./definitions";

const EVENTS = 20;

interface KernelPanelProps {
  report: ReportData;
  target: Target;
  group: KernelGroup;
  id: number;
  onClose: () => void;
}

/** One row: its figures, and the longest events of its name in the timeline. */
export function KernelPanel(props: KernelPanelProps): ReactElement {
  const { report, target, group, id, onClose } = props;
  const sequence = group === "sequence";
  return (
    <RowPanel
      label="Kernel"
      title={sequence ? "Sequence of kernels" : undefined}
      target={target}
      table={KERNEL_TABLES[group]}
      id={id}
      columns={kernelColumns(group)}
      onClose={onClose}
    >
      {(row) => (
        <>
          <ShowModule module={textOf(row, "module") || null} />
          {sequence ? (
            <SequencePlace report={report} row={row} />
          ) : (
            <Longest report={report} target={target} name={textOf(row, "name")} />
          )}
        </>
      )}
    </RowPanel>
  );
}

interface LongestProps {
  report: ReportData;
  target: Target;
  name: string;
}

function Longest({ report, target, name }: LongestProps): ReactElement {
  const events = useRows(target, {
    table: "device_events",
    sort: ["-duration_us"],
    filter: [`name:eq:${name}`],
    limit: EVENTS,
  });
  return (
    <section aria-busy={events.status === "loading"}>
      <h3>Longest of {count(events.value?.total ?? null)} with this name</h3>
      <EventList
        report={report}
        rows={rowsOf(events.value)}
        length="duration_us"
        shown="duration_us"
        shownAs={D.duration}
      />
    </section>
  );
}

/** The kernels of a sequence in their order, and where it comes first. */
function SequencePlace({ report, row }: { report: ReportData; row: TableRow }): ReactElement {
  const start = numberOf(row, "start_us") ?? 0;
  const place = inTimeline(report, start, numberOf(row, "span_us") ?? 0, Number(row.id));
  return (
    <section>
      <h3>Kernels in a row</h3>
      <ol className="stack">
        {textOf(row, "name")
          .split("\n")
          .map((name, index) => (
            <li key={index}>
              <Name kernel text={name} className="code wrap" />
            </li>
          ))}
      </ol>
      <p className="muted">
        The gain is a bound, not a promise: one kernel takes at least as long as the longest of
        them.
      </p>
      <PlaceLink className="button" to={place}>
        Show the first at {instant(start - report.trace.start_us)}
      </PlaceLink>
    </section>
  );
}
