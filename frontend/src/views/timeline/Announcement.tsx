import type { ReactElement } from "react";

import type { WireLane } from "../../api/timeline";
import { duration } from "../../text/formats";
import { laneText } from "./event";
import { clip } from "../../text/formats";
import type { Selection } from "./useSelection";

/** Says what is selected to those who do not see it. */
export function Announcement({
  selection,
  lanes,
}: {
  selection: Selection;
  lanes: readonly WireLane[];
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
