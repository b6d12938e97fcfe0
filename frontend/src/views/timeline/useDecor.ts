import { useMemo } from "react";

import type { WireTimeline } from "../../api/timeline";
import type { WireReport } from "../../api/types";
import type { LaneBox } from "./data/lanes";
import { waitsOf } from "./data/waits";
import { usePlace } from "../../parts/context";
import { coloursOf, inkOf, textsOf } from "./chart/ink";
import type { Decor } from "./chart/scene";
import type { Hits } from "./useHits";
import { usePalette } from "./usePalette";
import { spotOf, type Selection } from "./useSelection";

/** What is drawn upon the trace, the same object while nothing of it changes. */
export function useDecor(
  report: WireReport,
  timeline: WireTimeline,
  boxes: readonly LaneBox[],
  { spot, links }: Selection,
  { found, density }: Hits,
): Decor {
  const [{ range, mark }] = usePlace();
  const palette = usePalette();
  const meanings = timeline.colours;
  const ink = useMemo(() => inkOf(meanings, palette), [meanings, palette]);
  const colours = useMemo(() => coloursOf(meanings, palette), [meanings, palette]);
  const texts = useMemo(() => textsOf(ink, palette), [ink, palette]);
  const waits = useMemo(() => waitsOf(report), [report]);
  const hits = useMemo(() => found.map(spotOf), [found]);
  return useMemo(
    () => ({
      boxes,
      palette,
      ink,
      colours,
      texts,
      waits,
      selected: spot,
      links,
      hits,
      density,
      range,
      mark,
    }),
    [boxes, palette, ink, colours, texts, waits, spot, links, hits, density, range, mark],
  );
}
