import { memo, type ReactElement } from "react";

import { counted } from "../../text/formats";
import { nextOpening, openingsOf, type LaneBox, type Opening } from "./data/lanes";
import { Name } from "../../components/Name";

interface LaneLabelsProps {
  boxes: readonly LaneBox[];
  onOpening: (lane: string, opening: Opening) => void;
}

/** What each lane is, and how many of its rows are on show. */
export const LaneLabels = memo(function LaneLabels({
  boxes,
  onOpening,
}: LaneLabelsProps): ReactElement {
  return (
    <ul className="lane-labels" aria-label="Lanes">
      {boxes.map((box) => (
        <li key={box.lane.id} style={{ height: box.height }}>
          <Label box={box} onOpening={onOpening} />
        </li>
      ))}
    </ul>
  );
});

function Label({
  box,
  onOpening,
}: {
  box: LaneBox;
  onOpening: LaneLabelsProps["onOpening"];
}): ReactElement {
  const { lane, opening, rows } = box;
  const [title, more] =
    lane.subtitle === "" ? [lane.group, lane.title] : [lane.title, lane.subtitle];
  const texts = (
    <>
      <Name text={title === "" ? lane.title : title} className="lane-title" />
      <Name text={more} className="lane-more" />
    </>
  );
  const tooltip = counted(lane.events, lane.kind === "queue" ? "point" : "event");
  if (openingsOf(lane).length < 2) {
    return (
      <span className="lane-label" title={tooltip}>
        {texts}
      </span>
    );
  }
  return (
    <button
      type="button"
      className="lane-label"
      title={tooltip}
      aria-expanded={opening !== "folded"}
      onClick={() => {
        onOpening(lane.id, nextOpening(lane, opening));
      }}
    >
      {texts}
      <span className="lane-rows">
        {opening === "folded" ? "▸" : "▾"} {rows < lane.depth && `${rows} of `}
        {counted(lane.depth, "row")}
      </span>
    </button>
  );
}
