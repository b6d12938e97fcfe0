import { useCallback, useMemo, useState } from "react";

import type { Target } from "../../api/request";
import type { EventDetail, EventSummary, WindowStatistics } from "../../api/schema";
import { type Loaded, useAsk, usePlace, useServices } from "../../parts/services";
import type { Spot } from "./chart/scene";
import type { Block } from "./data/hits";

export interface Selection {
  /** Where the selected event is, as soon as that is known. */
  spot: Spot | null;
  event: Loaded<EventDetail> | null;
  links: readonly Spot[];
  statistics: Loaded<WindowStatistics> | null;
  /** Say where an event is before the server does. */
  expect: (id: string, spot: Spot) => void;
}

/** What the address says is selected, and what the server knows of it. */
export function useSelection(target: Target): Selection {
  const { api } = useServices();
  const [{ event: id, range }] = usePlace();
  const [expected, setExpected] = useState<{ id: string; spot: Spot } | null>(null);
  const event = useAsk(api.timeline.event, id === null ? null : [target, id]);
  const statistics = useAsk(api.timeline.statistics, range === null ? null : [target, range]);
  const expect = useCallback((of: string, spot: Spot) => setExpected({ id: of, spot }), []);
  const known = id !== null && event.status === "ready" ? event.value : null;
  const early = expected !== null && expected.id === id ? expected.spot : null;
  const spot = useMemo(() => (known === null ? early : spotOf(known)), [known, early]);
  const links = useMemo(() => known?.links.map(spotOf) ?? [], [known]);
  return {
    spot,
    event: id === null ? null : event,
    links,
    statistics: range === null ? null : statistics,
    expect,
  };
}

export function spotOf({ lane, depth, start, duration }: EventSummary): Spot {
  return { lane, depth, span: { from: start, to: start + duration } };
}

export function spotOfBlock({ lane, depth, span }: Block): Spot {
  return { lane, depth, span };
}
