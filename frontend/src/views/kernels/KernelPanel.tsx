import type { ReactElement } from "react";

import { SidePanel } from "../../components/SidePanel";
import { inTimeline } from "../../address/links";
import type { Target } from "../../api/request";
import type { WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { RowFacts } from "../../parts/serverTable/RowFacts";
import { numberOf, rowsOf, textOf, useRows } from "../../parts/serverTable/rows";
import { count, duration, instant } from "../../text/formats";
import { SequencePlace } from "./SequencePlace";
import type { KernelGroup } from "./address";
import { KERNEL_TABLES, kernelColumns } from "./columns";

const EVENTS = 20;

interface KernelPanelProps {
  report: WireReport;
  target: Target;
  group: KernelGroup;
  id: number;
  onClose: () => void;
}

/** One row: its figures, and the longest events of its name in the timeline. */
export function KernelPanel(props: KernelPanelProps): ReactElement | null {
  const { report, target, group, id, onClose } = props;
  const table = KERNEL_TABLES[group];
  const question = { table, sort: [], filter: [`id:eq:${id}`], offset: 0, limit: 1 };
  const [row] = rowsOf(useRows(target, question).value);
  if (row === undefined) return null;
  const module = textOf(row, "module");
  return (
    <SidePanel label="Kernel" className="kernel-panel" onClose={onClose}>
      <header>
        <h2>
          {group === "sequence" ? (
            "Sequence of kernels"
          ) : (
            <Name text={textOf(row, "name")} className="wrap" />
          )}
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <RowFacts row={row} columns={kernelColumns(group)} />
      {module !== "" && (
        <PlaceLink
          className="button"
          to={{ view: "modules", module, zoom: null, search: "", sort: null }}
        >
          Show module
        </PlaceLink>
      )}
      {group === "sequence" ? (
        <SequencePlace report={report} row={row} />
      ) : (
        <Longest report={report} target={target} name={textOf(row, "name")} />
      )}
    </SidePanel>
  );
}

interface LongestProps {
  report: WireReport;
  target: Target;
  name: string;
}

function Longest({ report, target, name }: LongestProps): ReactElement {
  const events = useRows(target, {
    table: "device_events",
    sort: ["-duration_us"],
    filter: [`name:eq:${name}`],
    offset: 0,
    limit: EVENTS,
  });
  return (
    <section aria-busy={events.status === "loading"}>
      <h3>Longest of {count(events.value?.total ?? null)} with this name</h3>
      <ol className="calls">
        {rowsOf(events.value).map((row) => {
          const start = numberOf(row, "start_us") ?? 0;
          const us = numberOf(row, "duration_us") ?? 0;
          return (
            <li key={String(row.id)}>
              <PlaceLink to={inTimeline(report, start, us, Number(row.id))}>
                {instant(start - report.trace.start_us)}
              </PlaceLink>{" "}
              {duration(us)}
              <span className="muted">
                {" "}
                {textOf(row, "phase")} <Name text={textOf(row, "module")} />
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
