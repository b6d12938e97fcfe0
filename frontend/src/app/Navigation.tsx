import type { ReactElement } from "react";

import { type Place, type View, VIEWS } from "../address/place";
import type { ReportData } from "../api/schema";
import { usePlaceLinks } from "../parts/PlaceLink";
import { usePlace } from "../parts/services";
import { NOTHING } from "../text/formats";
import { type Badge, VIEW_ENTRIES } from "./views";

interface NavigationProps {
  report: ReportData | null;
  /** Of all steps, whatever step is shown. */
  whole: ReportData | null;
  /** Number of workers of the run. */
  workers: number;
}

/** The views, each with the one number that says whether to go there. */
export function Navigation({ report, whole, workers }: NavigationProps): ReactElement {
  const [place] = usePlace();
  const offered = VIEWS.filter(
    (view) => view === place.view || VIEW_ENTRIES[view].applies?.(workers) !== false,
  );
  return (
    <nav className="navigation" aria-label="Views">
      {offered.map((view) => (
        <ViewLink key={view} view={view} report={report} whole={whole} />
      ))}
    </nav>
  );
}

function ViewLink({
  view,
  report,
  whole,
}: Omit<NavigationProps, "workers"> & { view: View }): ReactElement {
  const [place] = usePlace();
  const linkTo = usePlaceLinks();
  const { title, note, badge } = VIEW_ENTRIES[view];
  const { text, title: meaning, look } = badgeOf(badge, report, whole);
  return (
    <a
      {...linkTo(change(place, view))}
      className={view === place.view ? "current" : ""}
      aria-current={view === place.view ? "page" : undefined}
    >
      <span>{title(whole)}</span>
      <span className={look === true ? "badge look" : "badge"} title={meaning}>
        {text}
      </span>
      {note !== undefined && <span className="navigation-note">{note}</span>}
    </a>
  );
}

function badgeOf(
  badge: (typeof VIEW_ENTRIES)[View]["badge"],
  report: ReportData | null,
  whole: ReportData | null,
): Partial<Badge> & { text: string } {
  if (badge === undefined) return { text: "" };
  return report === null ? { text: NOTHING } : badge(report, whole ?? report);
}

/** Search, sort and these filters belong to the view one leaves. */
function change(place: Place, view: View): Partial<Place> {
  return place.view === view ? {} : { view, search: "", sort: null, phase: null, cause: null };
}
