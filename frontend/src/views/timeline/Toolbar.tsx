import { useEffect, useRef, type ReactElement, type RefObject } from "react";

import type { ApiError } from "../../api/request";
import { usePlace } from "../../parts/services";
import type { Actions } from "./useActions";
import { foundText, type Hits } from "./useHits";

interface ToolbarProps {
  hits: Hits;
  actions: Actions;
  input: RefObject<HTMLInputElement | null>;
  /** Why parts of the picture are missing. */
  error: ApiError | null;
}

/** Search, and by button what keys and mouse do too. */
export function Toolbar({ hits, actions, input, error }: ToolbarProps): ReactElement {
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
          onChange={(event) => {
            go({ search: event.target.value }, true);
          }}
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
        <button
          type="button"
          disabled={none}
          onClick={() => {
            actions.hit(-1);
          }}
        >
          Previous
        </button>
        <button
          type="button"
          disabled={none}
          onClick={() => {
            actions.hit(1);
          }}
        >
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
      <Movement actions={actions} />
    </div>
  );
}

function Movement({ actions }: { actions: Actions }): ReactElement {
  const zoom = (into: boolean) => () => {
    actions.zoom(into);
  };
  return (
    <div className="group">
      <button type="button" onClick={zoom(true)}>
        Zoom in
      </button>
      <button type="button" onClick={zoom(false)}>
        Zoom out
      </button>
      <button type="button" onClick={actions.fit} title="F: all of it, where nothing is selected">
        Fit selection
      </button>
      <button type="button" onClick={actions.whole}>
        Whole trace
      </button>
    </div>
  );
}
