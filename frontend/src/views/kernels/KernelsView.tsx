import { type ReactElement, useMemo } from "react";

import type { Target } from "../../api/request";
import type { ReportData } from "../../api/schema";
import { DurationFigure, Figure } from "../../components/Figure";
import { useWords } from "../../components/words";
import { PlaceLink } from "../../parts/PlaceLink";
import { TableSection } from "../../parts/serverTable/TableSection";
import { numberOf, rowsOf, type TableRow, textOf, useRows } from "../../parts/serverTable/rows";
import { usePlace } from "../../parts/services";
import { rowsNote } from "../../report/measures";
import { counted, percent } from "../../text/formats";
import { KernelPanel } from "./KernelPanel";
import { RooflineFacet } from "./RooflineFacet";
import type { KernelGroup, KernelsPlace } from "./address";
import { GAIN, KERNEL_TABLES, kernelColumns, mostBy, quickColumns } from "./columns";
import {
  KERNEL_DEFINITIONS as D,
  ROOFLINE_DEFINITIONS as R,
  SEQUENCE_DEFINITIONS as S,
} from "./definitions";

const GROUPS: Readonly<Record<KernelGroup, string>> = {
  name: "Name",
  launch: "Launch",
  sequence: "Fusable sequence",
};
const NO_WORK = "The trace holds no work of a device.";
const NOTHING_THERE: Readonly<Record<KernelGroup, string>> = {
  name: NO_WORK,
  launch: NO_WORK,
  sequence: "No fusable sequence of kernels occurs twice.",
};

interface KernelsViewProps {
  report: ReportData;
  target: Target;
}

/** What kernels cost, how near they are to what the device can do, and which launches they are. */
export function KernelsView({ report, target }: KernelsViewProps): ReactElement {
  const [{ kernels: place, sort }, go] = usePlace();
  const change = (next: Partial<KernelsPlace>): void => go({ kernels: { ...place, ...next } });
  const most = mostBy(place.group);
  const quick = quickColumns(place.group, sort?.key ?? most);
  const fill = useGains(target, place.group, quick.length > 0);
  const columns = useMemo(() => kernelColumns(place.group), [place.group]);
  if (report.trace.devices.length + report.kernels.length === 0) return <NoDevice />;
  return (
    <div className="view">
      <div className="view-main server-table-view kernels-view">
        <div className="kernels-grid">
          <UtilizationFigures target={target} />
          <TableSection
            label="Kernels"
            target={target}
            table={KERNEL_TABLES[place.group]}
            columns={columns}
            groups={GROUPS}
            place={place}
            onPlace={(next, also, quietly) =>
              go({ kernels: { ...place, ...next }, ...also }, quietly)
            }
            cost={{
              column: most,
              definition: place.group === "sequence" ? S.removable : D.total,
              title: place.group === "sequence" ? "Most to gain" : "Most expensive by device time",
            }}
            of={rowsNote(report)}
            expected={report.kernels.length}
            detail={place.group === "launch" ? (row) => textOf(row, "operator") : undefined}
            empty={{ none: NOTHING_THERE[place.group], notFound: "No kernel matches the search." }}
            asked={quick}
            fill={fill}
          />
          {report.kernels.length > 0 && (
            <RooflineFacet
              target={target}
              points={place.points}
              onPoints={(points) => change({ points, row: null })}
              selected={place.row}
              onSelect={(row) => {
                if (place.points === "kernel") change({ group: "launch", row });
              }}
            />
          )}
        </div>
      </div>
      {place.row !== null && (
        <KernelPanel
          report={report}
          target={target}
          group={place.group}
          id={place.row}
          onClose={() => change({ row: null })}
        />
      )}
    </div>
  );
}

function NoDevice(): ReactElement {
  return (
    <div className="state wide">
      <h1>This trace has no device events</h1>
      <p className="message">
        So it has no kernels. <PlaceLink to={{ view: "operators" }}>Operators</PlaceLink> shows what
        takes the time on the host.
      </p>
    </div>
  );
}

const STEPS = 1000;

/** MFU over the steps, and how much of the device's time it is about. */
function UtilizationFigures({ target }: { target: Target }): ReactElement {
  const words = useWords();
  const question = { table: "step_utilization", limit: STEPS };
  const rows = rowsOf(useRows(target, question).value);
  const length = sum(rows, "duration_us");
  const atPeak = weighted(rows);
  const device = sum(rows, "device_us");
  const unknown = sum(rows, "unknown_us");
  const known = rows.some((row) => row.flops !== null);
  return (
    <dl className="figures">
      <Figure
        definition={R.mfu}
        number={atPeak === null || length === 0 ? "unknown" : percent(atPeak / length)}
        note={`${words(counted(rows.length, "step"))}${atPeak !== null && unknown > 0 ? ", lower bound" : ""}`}
      />
      <Figure
        definition={R.known}
        number={known && device > 0 ? percent(sum(rows, "flops_us") / device) : "unknown"}
      />
      <DurationFigure definition={R.unknown} us={unknown} />
    </dl>
  );
}

/** Sum of MFU times length; null where a step has none. */
function weighted(rows: readonly TableRow[]): number | null {
  return rows.reduce<number | null>(
    (total, row) => {
      const mfu = numberOf(row, "mfu");
      if (total === null || mfu === null) return null;
      return total + mfu * (numberOf(row, "duration_us") ?? 0);
    },
    rows.length === 0 ? null : 0,
  );
}

function sum(rows: readonly TableRow[], column: string): number {
  return rows.reduce((total, row) => total + (numberOf(row, column) ?? 0), 0);
}

const MOST = 50;

/** What adds the gain to a row of a sequence, once it is replayed. */
function useGains(target: Target, group: KernelGroup, later: boolean): (row: TableRow) => TableRow {
  const question = {
    table: KERNEL_TABLES[group],
    filter: [`${GAIN}:ge:0`],
    limit: MOST,
    columns: ["id", GAIN],
  };
  const { value } = useRows(target, later ? question : null);
  if (!later) return (row) => row;
  const known = new Map(rowsOf(value).map((row) => [row.id, row[GAIN] ?? null]));
  return (row) => ({ ...row, [GAIN]: known.get(row.id) ?? null });
}
