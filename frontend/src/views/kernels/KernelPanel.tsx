import type { ReactElement } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { PlaceLink } from "../../parts/PlaceLink";
import { EventList } from "../../parts/serverTable/EventList";
import { RowPanel } from "../../parts/serverTable/RowPanel";
import { rowsOf, textOf, useRows } from "../../parts/serverTable/rows";
import { count } from "../../text/formats";
import { SequencePlace } from "./SequencePlace";
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
          <ShowModule module={textOf(row, "module")} />
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

function ShowModule({ module }: { module: string }): ReactElement | null {
  if (module === "") return null;
  return (
    <PlaceLink
      className="button"
      to={{ view: "modules", module, zoom: null, search: "", sort: null }}
    >
      Show module
    </PlaceLink>
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
