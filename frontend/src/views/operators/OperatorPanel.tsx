import type { ReactElement } from "react";

import { SidePanel } from "../../components/SidePanel";
import { inTimeline } from "../../address/links";
import type { Target } from "../../api/request";
import type { WireReport } from "../../api/types";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { numberOf, rowsOf, textOf, useRows, type TableRow } from "../../parts/serverTable/rows";
import { RowFacts } from "../../parts/serverTable/RowFacts";
import { count, duration, instant } from "../../text/formats";
import type { OperatorGroup } from "./address";
import { OPERATOR_TABLES, operatorColumns } from "./columns";

const CALLS = 20;
const MODULES = 20;

interface OperatorPanelProps {
  report: WireReport;
  target: Target;
  group: OperatorGroup;
  id: number;
  onClose: () => void;
}

/** One row: its figures, its longest calls in the timeline, its modules. */
export function OperatorPanel(props: OperatorPanelProps): ReactElement | null {
  const { report, target, group, id, onClose } = props;
  const { table } = OPERATOR_TABLES[group];
  const question = { table, sort: [], filter: [`id:eq:${id}`], offset: 0, limit: 1 };
  const [row] = rowsOf(useRows(target, question).value);
  if (row === undefined) return null;
  return (
    <SidePanel label="Operator" className="operator-panel" onClose={onClose}>
      <header>
        <h2>
          <Name text={textOf(row, "name")} className="wrap" />
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <RowFacts row={row} columns={operatorColumns(group, report.devices.length > 0)} />
      <Stack text={textOf(row, "stack")} />
      <Calls {...props} />
      <OfModules target={target} name={textOf(row, "name")} />
    </SidePanel>
  );
}

function Stack({ text }: { text: string }): ReactElement | null {
  if (text === "") return null;
  return (
    <section>
      <h3>Call stack</h3>
      <ol className="stack">
        {text.split("\n").map((frame, index) => (
          <li key={index}>
            <Name text={frame} className="code wrap" />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Calls({ report, target, group, id }: OperatorPanelProps): ReactElement {
  const longest = report.devices.length > 0 ? "device_us" : "host_us";
  const filter = [`${OPERATOR_TABLES[group].of}:eq:${id}`];
  const sort = [`-${longest}`, "-host_us"];
  const calls = useRows(target, { table: "operator_calls", sort, filter, offset: 0, limit: CALLS });
  const rows = rowsOf(calls.value);
  const total = calls.value?.total ?? 0;
  return (
    <section aria-busy={calls.status === "loading"}>
      <h3>
        {total > rows.length ? `Longest ${count(rows.length)} of ${count(total)} calls` : "Calls"}
      </h3>
      <ol className="calls">
        {rows.map((row) => (
          <li key={String(row.id)}>
            <PlaceLink to={placeOf(report, row)}>
              {instant((numberOf(row, "start_us") ?? 0) - report.trace.start_us)}
            </PlaceLink>{" "}
            {duration(numberOf(row, longest))}
            <span className="muted">
              {" "}
              {textOf(row, "phase")} <Name text={textOf(row, "module")} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function placeOf(report: WireReport, row: TableRow): ReturnType<typeof inTimeline> {
  const [start, length] = [numberOf(row, "start_us") ?? 0, numberOf(row, "host_us") ?? 0];
  return inTimeline(report, start, length, Number(row.id));
}

function OfModules({ target, name }: { target: Target; name: string }): ReactElement | null {
  const modules = useRows(target, {
    table: "operators_by_module",
    sort: ["-self_device_us", "-self_host_us"],
    filter: [`name:eq:${name}`],
    offset: 0,
    limit: MODULES,
  });
  const rows = rowsOf(modules.value).filter((row) => row.module !== null);
  if (rows.length === 0) return null;
  return (
    <section>
      <h3>Modules that call it</h3>
      <ol className="calls">
        {rows.map((row) => (
          <li key={String(row.id)}>
            <PlaceLink to={modulePlace(textOf(row, "module"))}>
              <Name text={textOf(row, "module") || "(root)"} />
            </PlaceLink>{" "}
            {duration(numberOf(row, "self_device_us") ?? numberOf(row, "self_host_us"))}{" "}
            <span className="muted">
              {textOf(row, "phase")}, {count(numberOf(row, "calls"))}×
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function modulePlace(module: string): Parameters<typeof PlaceLink>[0]["to"] {
  return { view: "modules", module, zoom: null, search: "", sort: null };
}
