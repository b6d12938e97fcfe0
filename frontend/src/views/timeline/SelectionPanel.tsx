import { type ReactElement, useState } from "react";

import type { EventSummary, TimelineLane, TimelineOverview } from "../../api/schema";
import { Name } from "../../components/Name";
import { usePlace } from "../../parts/services";
import { clip, count, duration } from "../../text/formats";
import { EventPanel, laneText } from "./EventPanel";
import { RangePanel } from "./RangePanel";
import { TIMELINE_KEYS } from "./commands";
import type { Actions } from "./useActions";
import type { Hits } from "./useHits";
import type { Selection } from "./useSelection";

interface SelectionPanelProps {
  timeline: TimelineOverview;
  selection: Selection;
  actions: Actions;
}

/** What is selected, in words; what the keys do, where nothing is. */
export function SelectionPanel({
  timeline,
  selection,
  actions,
}: SelectionPanelProps): ReactElement {
  const { event, statistics } = selection;
  const onLink = (spot: EventSummary): void => actions.lookAt(spot);
  if (event === null && statistics === null) return <Hints />;
  return (
    <section
      className="selection"
      aria-label="Selection"
      aria-busy={(event ?? statistics)?.status === "loading"}
    >
      {event !== null ? (
        <EventPanel loaded={event} lanes={timeline.lanes} onLink={onLink} onClose={actions.clear} />
      ) : (
        statistics !== null && <RangePanel loaded={statistics} onClose={actions.clear} />
      )}
    </section>
  );
}

/** What keys and mouse do. */
function Hints(): ReactElement {
  return (
    <p className="hints" id="timeline-keys">
      {TIMELINE_KEYS.map(([keys, does]) => (
        <span key={keys}>
          <kbd>{keys}</kbd> {does}
        </span>
      ))}
    </p>
  );
}

/** Says what is selected to those who do not see it. */
export function Announcement({
  selection,
  lanes,
}: {
  selection: Selection;
  lanes: readonly TimelineLane[];
}): ReactElement {
  const event = selection.event?.status === "ready" ? selection.event.value : null;
  const statistics = selection.statistics?.status === "ready" ? selection.statistics.value : null;
  const text =
    event !== null
      ? `${clip(event.name, 100)}, ${duration(event.duration)}, at ${duration(event.start)}, on ${laneText(lanes, event.lane)}`
      : statistics !== null
        ? `${duration(statistics.end - statistics.start)} selected`
        : "";
  return (
    <p className="visually-hidden" role="status" aria-live="polite" id="timeline-selected">
      {text}
    </p>
  );
}

const MOST_SHOWN = 200;

interface HitListProps {
  hits: Hits;
  lanes: readonly TimelineLane[];
  actions: Actions;
}

/** What a search found, next to the chart: the longest first, or as it happened. */
export function HitList({ hits, lanes, actions }: HitListProps): ReactElement | null {
  const [{ event, search }] = usePlace();
  const [byLength, setByLength] = useState(false);
  const { found, total } = hits;
  if (found.length === 0 || search.trim() === "") return null;
  const ordered = byLength ? [...found].sort((a, b) => b.duration - a.duration) : found;
  return (
    <aside className="hit-list" aria-label="Hits">
      <header>
        <h2>{count(total)} found</h2>
        <button type="button" className="link" onClick={() => setByLength(!byLength)}>
          {byLength ? "Order by time" : "Longest first"}
        </button>
      </header>
      <ol>
        {ordered.slice(0, MOST_SHOWN).map((hit) => (
          <li key={hit.id} className={String(hit.id) === event ? "selected" : ""}>
            <Hit hit={hit} lanes={lanes} onLook={actions.lookAt} />
          </li>
        ))}
      </ol>
      {(total ?? 0) > MOST_SHOWN && (
        <p className="muted">The first {count(Math.min(found.length, MOST_SHOWN))} are listed.</p>
      )}
    </aside>
  );
}

interface HitProps {
  hit: EventSummary;
  lanes: readonly TimelineLane[];
  onLook: (spot: EventSummary) => void;
}

function Hit({ hit, lanes, onLook }: HitProps): ReactElement {
  return (
    <button type="button" className="quiet" onClick={() => onLook(hit)}>
      <Name kernel text={hit.name} className="code" />
      <span>{duration(hit.duration)}</span>
      <span className="muted">
        at {duration(hit.start)}, <Name text={laneText(lanes, hit.lane)} />
      </span>
    </button>
  );
}
