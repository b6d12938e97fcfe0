import type { ReactElement } from "react";

import { modulePlace } from "../../address/links";
import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { PlaceLink } from "../../parts/PlaceLink";
import { EventList, PanelTable, RowPanel } from "../../parts/serverTable/RowPanel";
import { numberOf, rowsOf, textOf, useRows } from "../../parts/serverTable/rows";
import { count, duration } from "../../text/formats";
import type { OperatorGroup } from "./address";
import { OPERATOR_TABLES, operatorColumns } from "./columns";
import { OPERATOR_DEFINITIONS as D, OPERATOR_PANEL_DEFINITIONS as P } from "./definitions";

const CALLS = 20;
const MODULES = 20;

interface OperatorPanelProps {
  report: ReportData;
  target: Target;
  group: OperatorGroup;
  id: number;
  onClose: () => void;
}

/** One row: its figures, its longest calls in the timeline, its modules. */
export function OperatorPanel(props: OperatorPanelProps): ReactElement {
  const { report, target, group, id, onClose } = props;
  return (
    <RowPanel
      label="Operator"
      target={target}
      table={OPERATOR_TABLES[group].table}
      id={id}
      columns={operatorColumns(group, report.devices.length > 0)}
      onClose={onClose}
    >
      {(row) => (
        <>
          <Stack text={textOf(row, "stack")} />
          <Calls {...props} expected={Math.min(CALLS, numberOf(row, "calls") ?? 0)} />
          <OfModules target={target} name={textOf(row, "name")} />
        </>
      )}
    </RowPanel>
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

interface CallsProps extends OperatorPanelProps {
  /** Rows that there is room for before they are there. */
  expected: number;
}

/** Of a row, with its line. */
const ROW_PX = 24;

function Calls({ report, target, group, id, expected }: CallsProps): ReactElement {
  const device = report.devices.length > 0;
  const longest = device ? "device_us" : "host_us";
  const filter = [`${OPERATOR_TABLES[group].of}:eq:${id}`];
  const sort = [`-${longest}`, "-host_us"];
  const calls = useRows(target, { table: "operator_calls", sort, filter, limit: CALLS });
  const rows = rowsOf(calls.value);
  const total = calls.value?.total ?? 0;
  return (
    <section aria-busy={calls.status === "loading"} style={{ minHeight: (expected + 2) * ROW_PX }}>
      <h3>
        {total > rows.length ? `Longest ${count(rows.length)} of ${count(total)} calls` : "Calls"}
      </h3>
      <EventList
        report={report}
        rows={rows}
        length="host_us"
        shown={longest}
        shownAs={device ? P.device : P.host}
      />
    </section>
  );
}

function OfModules({ target, name }: { target: Target; name: string }): ReactElement | null {
  const modules = useRows(target, {
    table: "operators_by_module",
    sort: ["-self_device_us", "-self_host_us"],
    filter: [`name:eq:${name}`],
    limit: MODULES,
  });
  const rows = rowsOf(modules.value).filter((row) => row.module !== null);
  if (rows.length === 0) return null;
  return (
    <section>
      <h3>Modules that call it</h3>
      <PanelTable className="of-modules" heads={[D.module, P.self, P.calls]}>
        {rows.map((row) => (
          <tr key={String(row.id)}>
            <th scope="row">
              <PlaceLink to={modulePlace(textOf(row, "module"))}>
                <Name text={textOf(row, "module") || "(root)"} />
              </PlaceLink>
            </th>
            <td>{duration(numberOf(row, "self_device_us") ?? numberOf(row, "self_host_us"))}</td>
            <td className="muted">
              {textOf(row, "phase")}, {count(numberOf(row, "calls"))}×
            </td>
          </tr>
        ))}
      </PanelTable>
    </section>
  );
}
