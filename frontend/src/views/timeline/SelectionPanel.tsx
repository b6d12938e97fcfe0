import type { ReactElement } from "react";

import type { WireSpot, WireTimeline } from "../../api/timeline";
import { Hints } from "./Hints";
import { EventPanel } from "./EventPanel";
import { RangePanel } from "./RangePanel";
import type { Actions } from "./useActions";
import type { Selection } from "./useSelection";

interface SelectionPanelProps {
  timeline: WireTimeline;
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
  const onLink = (spot: WireSpot): void => {
    actions.lookAt(spot);
  };
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
