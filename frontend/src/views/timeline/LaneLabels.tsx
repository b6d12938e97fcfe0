import { memo, type CSSProperties, type ReactElement } from "react";

import { Name } from "../../components/Name";
import { counted } from "../../text/formats";
import { isCurve, nextOpening, openingsOf, pinnedHeight, type LaneBox } from "./data/lanes";
import type { Arrangement } from "./useArrangement";

interface LaneLabelsProps {
  arrangement: Arrangement;
}

/** What each lane is, how many of its rows are on show, and where it stands. */
export const LaneLabels = memo(function LaneLabels({ arrangement }: LaneLabelsProps): ReactElement {
  return (
    <ul className="lane-labels" aria-label="Lanes" style={stayingBelow(arrangement.boxes)}>
      {arrangement.boxes.map((box) => (
        <li key={box.lane.id} className={box.pinned ? "pinned" : ""} style={placeOf(box)}>
          <div className="lane-head">
            <Label box={box} onOpening={arrangement.open} />
            <Arrange box={box} arrangement={arrangement} />
          </div>
        </li>
      ))}
    </ul>
  );
});

/** Names of tall lanes stay in sight, below the pinned ones. */
function stayingBelow(boxes: readonly LaneBox[]): CSSProperties {
  return { "--pinned": `${pinnedHeight(boxes)}px` } as CSSProperties;
}

function placeOf({ height, pinned, top }: LaneBox): CSSProperties {
  return pinned ? { height, top } : { height };
}

interface LabelProps {
  box: LaneBox;
  onOpening: Arrangement["open"];
}

function Label({ box, onOpening }: LabelProps): ReactElement {
  const { lane, opening, rows } = box;
  const [title, more] = textsOf(box);
  const texts = (
    <>
      <Name text={title} className="lane-title" />
      <Name text={more} className="lane-more" />
      {lane.note !== null && <span className="visually-hidden">{lane.note}</span>}
    </>
  );
  const tooltip =
    lane.note ??
    (lane.events === null ? undefined : counted(lane.events, isCurve(lane) ? "point" : "event"));
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
      onClick={() => onOpening(lane.id, nextOpening(lane, opening))}
    >
      {texts}
      <span className="lane-rows">
        {opening === "folded" ? "▸" : "▾"} {rows < lane.depth && `${rows} of `}
        {counted(lane.depth, "row")}
      </span>
    </button>
  );
}

/** The two lines of a label. */
function textsOf({ lane }: LaneBox): [title: string, more: string] {
  const [title, more] =
    lane.subtitle === "" ? [lane.group, lane.title] : [lane.title, lane.subtitle];
  return [title === "" ? lane.title : title, more];
}

/** Pins and moves a lane: one stop for the keyboard, whatever it offers. */
function Arrange({ box, arrangement }: { box: LaneBox; arrangement: Arrangement }): ReactElement {
  const { lane, pinned } = box;
  const actions: Readonly<Record<string, () => void>> = {
    [pinned ? "Unpin" : "Pin on top"]: () => arrangement.pin(lane.id, !pinned),
    "Move up": () => arrangement.move(lane.id, -1),
    "Move down": () => arrangement.move(lane.id, 1),
    "Reset all lanes": arrangement.reset,
  };
  return (
    <select
      className="lane-arrange"
      aria-label={`Arrange ${textsOf(box).join(", ")}`}
      title="Pin or move this lane"
      value=""
      onChange={(event) => actions[event.target.value]?.()}
    >
      <option value="">{pinned ? "pinned" : "⋯"}</option>
      {Object.keys(actions).map((text) => (
        <option key={text} value={text}>
          {text}
        </option>
      ))}
    </select>
  );
}
