import { type ReactElement, use, useMemo, useState } from "react";

import type { Target } from "../../api/request";
import type { ReportData, TimelineOverview, TimelineWindow } from "../../api/schema";
import { Name } from "../../components/Name";
import { usePalette } from "../../components/browser";
import { MarkedContext } from "../../components/words";
import { LanesCanvas } from "../../parts/lanes/LanesCanvas";
import { Movement, within } from "../../parts/lanes/Movement";
import { AXIS_PX } from "../../parts/lanes/draw";
import { type Loaded, useAsk, useServices } from "../../parts/services";
import { duration } from "../../text/formats";
import type { Span } from "../../text/span";
import { coloursOf } from "../../theme/colours";
import type { WhatIfPlace } from "./address";
import { asked } from "./question";

interface PredictedLanesProps {
  report: ReportData;
  target: Target;
  place: WhatIfPlace;
}

/** Pixels that are asked for; the picture is scaled to its place. */
const WIDTH = 1200;
const LANE_PX = 22;

/** Host and streams of the replayed steps, as recorded and below that as predicted. */
export function PredictedLanes({ report, target, place }: PredictedLanesProps): ReactElement {
  const { api } = useServices();
  const question: [Target, WhatIfPlace] = [target, asked(place)];
  const { value, status } = useAsk(api.whatIf.lanes, question, report);
  const [chosen, setChosen] = useState<Span | null>(null);
  const bounds = useMemo(() => ({ from: 0, to: Math.max(value?.duration_us ?? 1, 1) }), [value]);
  const span = within(chosen ?? bounds, bounds);
  const window = { ...span, width: WIDTH };
  const marked = use(MarkedContext);
  const shown = useAsk(api.whatIf.window, status === "ready" ? [...question, window] : null);
  return (
    <section className="facet whatif-lanes" aria-label="Recorded and predicted lanes">
      <header>
        <h2>
          When <span className="muted">as recorded, and below as predicted</span>
        </h2>
        <Movement
          span={span}
          bounds={bounds}
          all={marked ? "All steps" : "Whole trace"}
          onSpan={setChosen}
        />
      </header>
      {value !== null && <Lanes lanes={value} shown={shown} span={span} />}
      <p className="muted whatif-lanes-note">
        Both begin where the replay does. Between two moments (launches, syncs) a thread's own work
        is drawn first, then its wait for the device.
      </p>
    </section>
  );
}

interface LanesProps {
  lanes: TimelineOverview;
  shown: Loaded<TimelineWindow>;
  span: Span;
}

function Lanes({ lanes: { lanes, colours }, shown, span }: LanesProps): ReactElement {
  const palette = usePalette();
  const { value } = shown;
  const picture = useMemo(
    () => ({
      rows: lanes.map(({ id, group }, at) => ({
        blocks: value?.lanes.find((one) => one.id === id),
        depth: null,
        names: value?.names ?? [],
        meanings: colours,
        fills: coloursOf(colours, palette),
        origin: 0,
        rule: at > 0 && group !== lanes[at - 1]?.group ? (2 as const) : (1 as const),
      })),
      rowPx: LANE_PX,
      span,
      palette,
    }),
    [lanes, colours, value, span, palette],
  );
  return (
    <div className="lanes-body" aria-busy={shown.status === "loading"}>
      <ul className="lanes-labels" style={{ paddingBlockStart: AXIS_PX }} aria-label="Lanes">
        {lanes.map(({ id, group, title }) => (
          <li key={id} style={{ height: LANE_PX }}>
            <Name text={title} /> <span className="muted">{group.replace("as ", "")}</span>
          </li>
        ))}
      </ul>
      <LanesCanvas picture={picture} label={textOf(lanes, value)} />
    </div>
  );
}

/** How long what is in view takes on either side, for those who do not see the picture. */
function textOf(lanes: TimelineOverview["lanes"], shown: TimelineWindow | null): string {
  const said = lanes
    .filter(({ kind }) => kind === "steps")
    .map(({ id, group }) => {
      const blocks = shown?.lanes.find((one) => one.id === id);
      const us = blocks?.duration.reduce((sum, one) => sum + one, 0) ?? null;
      return `${group} ${duration(us)}`;
    });
  return `${lanes.length} lanes: ${said.join(", ")}`;
}
