import { useEffect, useRef, type ReactElement, type RefObject } from "react";

import type { ApiError } from "../../api/request";
import { Segments } from "../../components/controls";
import { usePlace } from "../../parts/services";
import { COLOURS } from "./address";
import type { Actions } from "./useActions";
import type { Arrangement } from "./useArrangement";
import { foundText, type Hits } from "./useHits";

interface ToolbarProps {
  hits: Hits;
  actions: Actions;
  arrangement: Arrangement;
  input: RefObject<HTMLInputElement | null>;
  /** Why parts of the picture are missing. */
  error: ApiError | null;
}

const COLOUR_TITLES = COLOURS.map((value) => ({
  value,
  title: value === "phase" ? "Colour by phase" : "by name",
}));

/** Search, and by button what keys and mouse do too. */
export function Toolbar({ hits, actions, arrangement, input, error }: ToolbarProps): ReactElement {
  const [place, go] = usePlace();
  const none = hits.found.length === 0;
  const eager = useRef(false);
  useEffect(() => {
    if (!eager.current || hits.total === null) return;
    eager.current = false;
    actions.hit(1);
  }, [hits, actions]);
  const status = hits.failed ? "the search failed" : foundText(hits.found, hits.total, place.event);
  return (
    <div className="toolbar">
      <label className="search">
        <input
          ref={input}
          type="search"
          placeholder="Search names of events"
          aria-label="Search names of events"
          value={place.search}
          spellCheck={false}
          onChange={(event) => go({ search: event.target.value }, true)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && hits.total === null) eager.current = true;
            else if (event.key === "Enter") actions.hit(event.shiftKey ? -1 : 1);
            else if (event.key === "Escape") event.currentTarget.blur();
            else return;
            event.preventDefault();
          }}
        />
      </label>
      <div className="group">
        <button type="button" disabled={none} onClick={() => actions.hit(-1)}>
          Previous
        </button>
        <button type="button" disabled={none} onClick={() => actions.hit(1)}>
          Next
        </button>
      </div>
      <span className="found" role="status">
        {status}
      </span>
      {error !== null && (
        <span className="missing-parts" role="alert">
          Parts are missing: {error.message}
        </span>
      )}
      <span className="spring" />
      <Look arrangement={arrangement} />
      <Movement actions={actions} />
    </div>
  );
}

/** Which lanes there are, and what their colours are of. */
function Look({ arrangement }: { arrangement: Arrangement }): ReactElement {
  const [place, go] = usePlace();
  return (
    <>
      <label className="search lane-filter">
        <input
          type="search"
          placeholder="Filter lanes"
          aria-label="Filter lanes"
          value={arrangement.filter}
          spellCheck={false}
          onChange={(event) => arrangement.show(event.target.value)}
        />
      </label>
      <Segments
        label="Colour by"
        segments={COLOUR_TITLES}
        chosen={place.colours}
        onChoose={(colours) => go({ colours }, true)}
      />
    </>
  );
}

function Movement({ actions }: { actions: Actions }): ReactElement {
  const zoom = (into: boolean) => () => actions.zoom(into);
  return (
    <div className="group">
      <button type="button" aria-label="Zoom in" onClick={zoom(true)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={zoom(false)}>
        −
      </button>
      <button
        type="button"
        onClick={actions.fit}
        aria-label="Fit selection"
        title="F: all of it, where nothing is selected"
      >
        Fit
      </button>
      <button type="button" onClick={actions.whole}>
        Whole trace
      </button>
    </div>
  );
}
