import { useMemo } from "react";

import type { ReportData, TimelineOverview } from "../../api/schema";
import { usePlace } from "../../parts/services";
import { usePalette } from "../../components/palette";
import { coloursOf } from "../../theme/colours";
import type { Decor } from "./chart/scene";
import { inkOf, textsOf } from "./chart/shades";
import type { LaneBox } from "./data/lanes";
import { syncMarksOf } from "./data/syncMarks";
import type { Hits } from "./useHits";
import { spotOf, type Selection } from "./useSelection";

/** What is drawn upon the trace, the same object while nothing of it changes. */
export function useDecor(
  report: ReportData,
  timeline: TimelineOverview,
  boxes: readonly LaneBox[],
  { spot, links }: Selection,
  { found, density }: Hits,
): Decor {
  const [{ range, mark, colours: by }] = usePlace();
  const byName = by === "name";
  const palette = usePalette();
  const meanings = timeline.colours;
  const ink = useMemo(() => inkOf(meanings, palette), [meanings, palette]);
  const colours = useMemo(() => coloursOf(meanings, palette), [meanings, palette]);
  const texts = useMemo(() => textsOf(ink, palette), [ink, palette]);
  const syncs = useMemo(() => syncMarksOf(report), [report]);
  const hits = useMemo(() => found.map(spotOf), [found]);
  return useMemo(
    () => ({
      boxes,
      palette,
      ink,
      colours,
      texts,
      syncs,
      selected: spot,
      links,
      hits,
      density,
      range,
      mark,
      byName,
    }),
    [boxes, palette, ink, colours, texts, syncs, spot, links, hits, density, range, mark, byName],
  );
}
