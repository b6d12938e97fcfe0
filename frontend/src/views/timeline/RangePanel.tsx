import type { ReactElement } from "react";

import type { WindowStatistics } from "../../api/schema";
import { Name } from "../../components/Name";
import { type Fact, Facts, type SmallColumn, SmallTable } from "../../components/SmallTable";
import type { Loaded } from "../../parts/services";
import { isHighlighted, lostIn } from "../../report/syncs";
import { count, duration, NOTHING, percent } from "../../text/formats";
import { causeText, SPAN_DEFINITIONS as D, partsOf, type Ranking, rankings } from "./range";

interface RangePanelProps {
  loaded: Loaded<WindowStatistics>;
  onClose: () => void;
}

/** What host and devices did in a selected span. */
export function RangePanel({ loaded, onClose }: RangePanelProps): ReactElement {
  if (loaded.status === "error") return <p className="message">{loaded.error.message}</p>;
  const { value } = loaded;
  if (value === null) return <p className="muted">Adding up …</p>;
  const length = value.end - value.start;
  return (
    <>
      <header>
        <h2>{duration(length)} selected</h2>
        <span className="muted">
          from {duration(value.start)} to {duration(value.end)}
        </span>
        <span className="spring" />
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <div className="selection-columns">
        <Sums statistics={value} length={length} />
        {rankings(value).map((ranking) => (
          <TopNames key={ranking.kind} ranking={ranking} />
        ))}
      </div>
    </>
  );
}

function Sums({
  statistics,
  length,
}: {
  statistics: WindowStatistics;
  length: number;
}): ReactElement {
  const { devices, phases, host_blocked_us: blocked } = statistics;
  const idle = devices.length === 0 ? null : idleBySyncs(statistics);
  const { sync_blocked_us: inSyncs } = statistics;
  const facts: (Fact | false)[] = [
    [D.events, count(statistics.events)],
    [D.syncs, statistics.waits === null ? NOTHING : count(statistics.waits)],
    [D.blocked, duration(blocked), isHighlighted(lostIn(blocked, idle), length)],
    (inSyncs ?? 0) > (blocked ?? 0) && [D.syncTime, duration(inSyncs)],
    ...partsOf(phases).map(([phase, us]): Fact => [{ ...D.phase, title: phase }, duration(us)]),
    ...devices.flatMap((device): Fact[] => [
      [
        { ...D.busy, title: `device ${device.id} ${D.busy.title}` },
        `${duration(device.busy_us)} · ${percent(device.busy_us / length)}`,
      ],
      [{ ...D.idle, title: `device ${device.id} ${D.idle.title}` }, duration(device.idle_us)],
      ...partsOf(device.idle_by_cause).map(([cause, us]): Fact => [
        { ...D.cause, title: `· ${causeText(cause)}` },
        duration(us),
        cause === "sync" && isHighlighted(us, length),
      ]),
    ]),
  ];
  return <Facts of={facts} terms />;
}

/** Idle time of all devices because the host waited, microseconds. */
function idleBySyncs({ devices }: WindowStatistics): number {
  return devices.reduce((sum, device) => sum + (device.idle_by_cause.sync ?? 0), 0);
}

const SELF: SmallColumn<Ranking["rows"][number]> = [D.self, ({ self_us }) => duration(self_us)];

function TopNames({ ranking }: { ranking: Ranking }): ReactElement {
  const withSelf = ranking.rows.some(({ self_us }) => self_us !== null);
  return (
    <div className="top-names">
      <SmallTable
        rows={ranking.rows}
        keyOf={({ name }) => name}
        columns={[
          [ranking.title, ({ name }) => <Name kernel text={name} className="code" />],
          [D.count, (row) => count(row.count)],
          [{ ...D.total, title: ranking.measure }, (row) => duration(row.total_us)],
          ...(withSelf ? [SELF] : []),
        ]}
      />
      {ranking.more > 0 && <p className="muted">{count(ranking.more)} more not shown</p>}
    </div>
  );
}
