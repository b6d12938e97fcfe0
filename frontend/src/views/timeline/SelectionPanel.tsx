import type { ReactElement } from "react";

import type { EventSummary, TimelineLane, TimelineOverview } from "../../api/schema";
import { clip, duration } from "../../text/formats";
import { EventPanel } from "./EventPanel";
import { RangePanel } from "./RangePanel";
import { laneText } from "./event";
import { TIMELINE_KEYS } from "./keys";
import type { Actions } from "./useActions";
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
