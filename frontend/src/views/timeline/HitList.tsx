import { useState, type ReactElement } from "react";

import type { EventSummary, TimelineLane } from "../../api/schema";
import { Name } from "../../components/Name";
import { usePlace } from "../../parts/services";
import { count, duration } from "../../text/formats";
import { laneText } from "./event";
import type { Actions } from "./useActions";
import type { Hits } from "./useHits";

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
