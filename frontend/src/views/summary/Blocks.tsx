import type { ReactElement, ReactNode } from "react";

import type { View } from "../../address/place";
import type { ReportData } from "../../api/schema";
import { Name } from "../../components/Name";
import { Facts, SmallTable } from "../../components/SmallTable";
import { Term } from "../../components/Tip";
import { ShareBar } from "../../components/charts";
import { PlaceLink } from "../../parts/PlaceLink";
import { perText } from "../../report/findings";
import type { Definition } from "../../text/definitions";
import { counted, duration, NOTHING, percent, written } from "../../text/formats";
import { kindText } from "../../text/names";
import {
  BREAKDOWN_DEFINITIONS,
  DEVICE_DEFINITIONS as D,
  SUMMARY_TABLE_DEFINITIONS as T,
} from "./definitions";
import { breakdownRows, type DeviceRow, deviceRows, kindRows, type ShareRow } from "./tables";

interface BlockProps {
  title: string;
  note?: string;
  /** The view that holds what the numbers are made of. */
  from?: { view: View; title: string };
  children: ReactNode;
}

/** A part of the summary below the fold. */
export function Block({ title, note, from, children }: BlockProps): ReactElement {
  return (
    <section className="facet" aria-label={title}>
      <header>
        <h2>
          {title} {note !== undefined && <span className="muted">{note}</span>}
        </h2>
        {from !== undefined && (
          <PlaceLink to={{ view: from.view, search: "", sort: null }}>{from.title}</PlaceLink>
        )}
      </header>
      {children}
    </section>
  );
}

const TIMELINE = { view: "timeline", title: "Timeline" } as const;

/** Device events by their kind. */
export function Kinds({ report }: { report: ReportData }): ReactElement | null {
  const rows = kindRows(report);
  if (rows.length === 0) return null;
  return (
    <Block
      title="Device events by kind"
      note={`${perText(report)}, summed over streams`}
      from={TIMELINE}
    >
      <ShareTable
        head={[T.kind, T.kindTime, T.kindShare]}
        rows={rows}
        wordOf={({ key }) => ({ title: kindText(key), text: T.kind.text })}
      />
    </Block>
  );
}

/** Steps as torch_tb_profiler takes them apart. */
export function BreakdownBlock({ report }: { report: ReportData }): ReactElement | null {
  const rows = breakdownRows(report.breakdown);
  if (rows.length === 0) return null;
  const whole = rows.reduce((sum, { us }) => sum + us, 0);
  return (
    <Block title="Time breakdown" note="as torch_tb_profiler" from={TIMELINE}>
      <ShareTable
        head={[
          {
            title: "category",
            text: "A moment counts for the first of these that applies: communication is what no kernel or copy overlaps.",
          },
          {
            title: "time",
            text: "Time on the clock, not a sum over streams.",
          },
          {
            title: "share",
            text: `Of the ${duration(whole)} in all.`,
          },
        ]}
        rows={rows.filter(({ us }) => us > 0)}
        wordOf={({ key }) => BREAKDOWN_DEFINITIONS[key]}
      />
      <p className="muted">
        {duration(whole)} in all
        {report.per_step.marked
          ? `: mean of ${counted(report.breakdown.length, "step")} with all their device events in the trace, each until they end.`
          : ", until the last device event ends."}
      </p>
    </Block>
  );
}

interface ShareTableProps<Key extends string> {
  head: readonly [Definition, Definition, Definition];
  rows: readonly ShareRow<Key>[];
  wordOf: (row: ShareRow<Key>) => Definition;
}

function ShareTable<Key extends string>(props: ShareTableProps<Key>): ReactElement {
  const [name, time, share] = props.head;
  const ofSome = (row: ShareRow<Key>, text: string): string => (row.us === 0 ? NOTHING : text);
  return (
    <SmallTable
      className="shares"
      rows={props.rows}
      keyOf={({ key }) => key}
      columns={[
        [
          name,
          (row) => {
            const { title, text } = props.wordOf(row);
            return <Term text={text}>{title}</Term>;
          },
        ],
        [time, (row) => ofSome(row, duration(row.us))],
        [{ ...share, span: 2 }, (row) => ofSome(row, percent(row.share))],
        [null, (row) => <ShareBar share={row.share} />, "bar-cell"],
      ]}
    />
  );
}

/** Arguments of kernels that not every exporter writes. */
const NOT_HERE = "not in this trace";

/** How well each device is used. */
export function Devices({ report }: { report: ReportData }): ReactElement | null {
  const rows = deviceRows(report);
  if (rows.length === 0) return null;
  return (
    <Block title={rows.length > 1 ? "Devices" : "Device"} from={TIMELINE}>
      {rows.map((row) => (
        <DeviceFacts key={row.id} row={row} />
      ))}
    </Block>
  );
}

function DeviceFacts({ row }: { row: DeviceRow }): ReactElement {
  return (
    <>
      <p className="device-name">
        <Name text={row.name} />
      </p>
      <Facts
        terms
        className="device-use"
        of={[
          [D.utilization, percent(row.utilization)],
          [D.efficiency, row.efficiency === null ? NOT_HERE : percent(row.efficiency)],
          [D.occupancy, row.occupancy === null ? NOT_HERE : written(row.occupancy, "percent")],
          [D.tensorCores, percent(row.tensorCores)],
          [D.eligible, percent(row.eligible)],
          [D.overlapped, row.communication === 0 ? NOTHING : percent(row.overlapped)],
        ]}
      />
    </>
  );
}
