import type { ReactElement } from "react";

import type { Place, View } from "../address/place";
import type { WireReport } from "../api/types";
import { usePlace, useServices } from "../parts/services";
import { headline } from "../report/headline";
import { stepsLength } from "../report/measures";
import { avoidable, isHighlighted } from "../report/syncs";
import { count, NOTHING } from "../text/formats";

interface Entry {
  view: View;
  title: string;
  /** What the view holds, in a word. */
  badge: string;
  look: boolean;
}

interface NavigationProps {
  report: WireReport | null;
  /** What the view of modules is called in this trace. */
  title: "Backward" | "Modules";
}

/** The views, each with the one number that says whether to go there. */
export function Navigation({ report, title }: NavigationProps): ReactElement {
  const [place, go] = usePlace();
  const { places } = useServices();
  return (
    <nav className="navigation" aria-label="Views">
      {entries(report, title).map((entry) => (
        <a
          key={entry.view}
          href={places.href(change(place, entry.view))}
          className={entry.view === place.view ? "current" : ""}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            go(change(place, entry.view));
          }}
          aria-current={entry.view === place.view ? "page" : undefined}
        >
          <span>{entry.title}</span>
          <span className={entry.look ? "badge look" : "badge"}>{entry.badge}</span>
        </a>
      ))}
    </nav>
  );
}

function entries(report: WireReport | null, title: NavigationProps["title"]): Entry[] {
  const syncs = avoidable(report?.syncs ?? []);
  const blocked = syncs.reduce((sum, sync) => sum + sync.duration_us, 0);
  const step = report === null ? 0 : stepsLength(report);
  return [
    { view: "summary", title: "Summary", badge: "", look: false },
    {
      view: "backward",
      title,
      badge: modulesBadge(report, title),
      look: false,
    },
    {
      view: "syncs",
      title: "Syncs",
      badge: report === null ? NOTHING : count(report.syncs.length),
      look: isHighlighted(blocked, step),
    },
    { view: "timeline", title: "Timeline", badge: "", look: false },
    {
      view: "findings",
      title: "Findings",
      badge: report === null ? NOTHING : count(report.findings.length),
      look: false,
    },
    { view: "compare", title: "Compare", badge: "", look: false },
  ];
}

/** The share of the backward pass in a step; without a backward pass, the number of modules. */
function modulesBadge(report: WireReport | null, title: NavigationProps["title"]): string {
  if (report === null) return NOTHING;
  if (title === "Modules") return count(report.modules.length);
  const share = headline(report, "mean").stepShare;
  return share === null ? NOTHING : `${Math.round(share * 100)}%`;
}

/** Search, sort and these filters belong to the view one leaves. */
function change(place: Place, view: View): Partial<Place> {
  return place.view === view ? {} : { view, search: "", sort: null, phase: null, cause: null };
}
