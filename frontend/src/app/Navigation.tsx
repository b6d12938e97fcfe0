import type { ReactElement } from "react";

import { type Place, type View, VIEWS } from "../address/place";
import type { ReportData, RunOverview } from "../api/schema";
import { usePlaceLinks } from "../parts/PlaceLink";
import { FEW_RANKS, type RunKey, useOverview } from "../parts/run";
import { usePlace } from "../parts/services";
import { count, counted, NOTHING } from "../text/formats";
import { type Badge, VIEW_ENTRIES } from "./views";

interface NavigationProps {
  report: ReportData | null;
  /** Of all steps, whatever step is shown. */
  whole: ReportData | null;
  runKey: RunKey;
  /** Number of workers of the run. */
  workers: number;
}

/** The views, each with the one number that says whether to go there. */
export function Navigation({ report, whole, runKey, workers }: NavigationProps): ReactElement {
  const [place] = usePlace();
  const read = workers > 1 && workers <= FEW_RANKS && (whole?.trace.world_size ?? 1) > 1;
  const { value: run } = useOverview(read ? runKey : null);
  const offered = VIEWS.filter(
    (view) => view === place.view || VIEW_ENTRIES[view].applies?.(workers) !== false,
  );
  return (
    <nav className="navigation" aria-label="Views">
      {offered.map((view) => (
        <ViewLink
          key={view}
          view={view}
          title={VIEW_ENTRIES[view].title(whole)}
          badge={badgeOf(view, report, whole, run)}
        />
      ))}
    </nav>
  );
}

interface ViewLinkProps {
  view: View;
  title: string;
  badge: Badge | null;
}

function ViewLink({ view, title, badge }: ViewLinkProps): ReactElement {
  const [place] = usePlace();
  const linkTo = usePlaceLinks();
  const { note } = VIEW_ENTRIES[view];
  return (
    <a
      {...linkTo(change(place, view))}
      className={view === place.view ? "current" : ""}
      aria-current={view === place.view ? "page" : undefined}
    >
      <span>{title}</span>
      <span className={badge?.look === true ? "badge look" : "badge"} title={badge?.title}>
        {badge?.text}
      </span>
      {note !== undefined && <span className="navigation-note">{note}</span>}
    </a>
  );
}

function badgeOf(
  view: View,
  report: ReportData | null,
  whole: ReportData | null,
  run: RunOverview | null,
): Badge | null {
  if (view === "ranks") return run === null ? null : stragglersBadge(run);
  const { badge } = VIEW_ENTRIES[view];
  if (badge === undefined) return null;
  return report === null ? { text: NOTHING, title: "" } : badge(report, whole ?? report);
}

function stragglersBadge({ stragglers: { length } }: RunOverview): Badge {
  return { text: count(length), title: counted(length, "straggler") };
}

/** Search, sort and these filters belong to the view one leaves. */
function change(place: Place, view: View): Partial<Place> {
  return place.view === view ? {} : { view, search: "", sort: null, phase: null, cause: null };
}
