import { type ReactElement, useMemo, useRef, useState } from "react";

import type { Target } from "../../api/request";
import type { ReportData, TimelineOverview } from "../../api/schema";
import { useAsk, usePlace, useServices } from "../../parts/services";
import { ErrorCard } from "../../parts/states";
import { ChartArea, HoverSource } from "./ChartArea";
import { ColourLegend } from "./ColourLegend";
import { Announcement, HitList, SelectionPanel } from "./SelectionPanel";
import { Toolbar } from "./Toolbar";
import { useCommands } from "./commands";
import { boundsOf } from "./data/viewport";
import { firstShown, useActions, useShown } from "./useActions";
import { useArrangement } from "./useArrangement";
import { useChart, useChartEvents, useDecor, useReveal } from "./useChart";
import { useHits } from "./useHits";
import { useSelection } from "./useSelection";

interface TimelineViewProps {
  report: ReportData;
  target: Target;
}

/** What happened when: the trace on one axis of time. */
export function TimelineView({ report, target }: TimelineViewProps): ReactElement {
  const { api } = useServices();
  const loaded = useAsk(api.timeline.overview, [target]);
  if (loaded.status === "error") return <ErrorCard error={loaded.error} onRetry={loaded.retry} />;
  if (loaded.value === null) {
    return (
      <div className="state" role="status">
        <h1>Laying out the timeline</h1>
      </div>
    );
  }
  return <Timeline report={report} target={target} timeline={loaded.value} />;
}

interface TimelineProps {
  report: ReportData;
  target: Target;
  timeline: TimelineOverview;
}

/** The chart and what is around it: search on top, what is selected below. */
function Timeline({ report, target, timeline }: TimelineProps): ReactElement {
  const [place] = usePlace();
  const arrangement = useArrangement(timeline);
  const { boxes } = arrangement;
  const bounds = useMemo(() => boundsOf(timeline.duration_us), [timeline]);
  const selection = useSelection(target);
  const hits = useHits(target, place.search);
  const decor = useDecor(report, timeline, boxes, selection, hits);
  const lanes = useRef<HTMLCanvasElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const minimap = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const refs = useMemo(() => ({ lanes, axis, minimap, scroller }), []);
  const first = firstShown(place, report, bounds);
  const { chart, error } = useChart(refs, { target, timeline, bounds, first, decor });
  const shown = useShown(chart, bounds);
  const actions = useActions(chart, shown, selection, hits);
  const readout = useRef<HTMLSpanElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [hover] = useState(() => new HoverSource());
  useChartEvents(chart, actions, shown, hover, readout);
  useReveal(chart, selection.spot, boxes, place.lanes.openings, arrangement.setOpenings);
  useCommands(chart, scroller, actions, () => input.current?.focus());
  return (
    <div className="timeline">
      <Toolbar
        hits={hits}
        actions={actions}
        arrangement={arrangement}
        input={input}
        error={error}
      />
      <div className="chart-and-hits">
        <ChartArea
          timeline={timeline}
          refs={refs}
          readout={readout}
          arrangement={arrangement}
          hover={hover}
        />
        <HitList hits={hits} lanes={timeline.lanes} actions={actions} />
      </div>
      <ColourLegend timeline={timeline} byName={place.colours === "name"} />
      <SelectionPanel timeline={timeline} selection={selection} actions={actions} />
      <Announcement selection={selection} lanes={timeline.lanes} />
    </div>
  );
}
