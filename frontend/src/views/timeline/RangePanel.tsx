import { Fragment, type ReactElement } from "react";

import type { WindowStatistics } from "../../api/schema";
import { Heads } from "../../components/Heads";
import { Name } from "../../components/Name";
import type { Loaded } from "../../parts/services";
import { isHighlighted, lostIn } from "../../report/syncs";
import type { Definition } from "../../text/definitions";
import { count, duration, percent } from "../../text/formats";
import { causeText, partsOf, rankings, SPAN_DEFINITIONS as D, type Ranking } from "./range";

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
  return (
    <dl className="facts">
      <Fact definition={D.events}>{count(statistics.events)}</Fact>
      <Fact definition={D.syncs}>{count(statistics.waits)}</Fact>
      <Fact definition={D.blocked} look={isHighlighted(lostIn(blocked, idle), length)}>
        {duration(blocked)}
      </Fact>
      {statistics.sync_blocked_us > blocked && (
        <Fact definition={D.syncTime}>{duration(statistics.sync_blocked_us)}</Fact>
      )}
      {partsOf(phases).map(([phase, us]) => (
        <Fact key={phase} definition={{ ...D.phase, title: phase }}>
          {duration(us)}
        </Fact>
      ))}
      {devices.map((device) => (
        <Fragment key={device.id}>
          <Fact definition={{ ...D.busy, title: `device ${device.id} ${D.busy.title}` }}>
            {duration(device.busy_us)} · {percent(device.busy_us / length)}
          </Fact>
          <Fact definition={{ ...D.idle, title: `device ${device.id} ${D.idle.title}` }}>
            {duration(device.idle_us)}
          </Fact>
          {partsOf(device.idle_by_cause).map(([cause, us]) => (
            <Fact
              key={cause}
              definition={{ ...D.cause, title: `· ${causeText(cause)}` }}
              look={cause === "sync" && isHighlighted(us, length)}
            >
              {duration(us)}
            </Fact>
          ))}
        </Fragment>
      ))}
    </dl>
  );
}

/** Idle time of all devices because the host waited, microseconds. */
function idleBySyncs({ devices }: WindowStatistics): number {
  return devices.reduce((sum, device) => sum + (device.idle_by_cause.sync ?? 0), 0);
}

interface FactProps {
  definition: Definition;
  look?: boolean;
  children: ReactElement | string | (string | ReactElement)[];
}

function Fact({ definition, look = false, children }: FactProps): ReactElement {
  return (
    <div title={definition.text}>
      <dt>{definition.title}</dt>
      <dd className={look ? "look" : undefined}>{children}</dd>
    </div>
  );
}

function TopNames({ ranking }: { ranking: Ranking }): ReactElement {
  const withSelf = ranking.rows.some(({ self_us }) => self_us !== null);
  return (
    <div className="top-names">
      <table className="small-table">
        <Heads
          of={[
            ranking.title,
            D.count,
            { ...D.total, title: ranking.measure },
            ...(withSelf ? [D.self] : []),
          ]}
        />
        <tbody>
          {ranking.rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <Name kernel text={row.name} className="code" />
              </th>
              <td>{count(row.count)}</td>
              <td>{duration(row.total_us)}</td>
              {withSelf && <td>{duration(row.self_us)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {ranking.more > 0 && <p className="muted">{count(ranking.more)} more not shown</p>}
    </div>
  );
}
