import { useCallback } from "react";

import type { Target } from "../../api/request";
import type { MemoryAnswer, TablePage, ReportData } from "../../api/schema";
import { useRows } from "../../parts/serverTable/rows";
import { useAsk, usePlace, useServices, type Loaded } from "../../parts/services";
import type { MemoryPlace } from "./address";
import { BLOCK_COLUMNS } from "./blockStack";

/** Rows of a page of blocks. */
export const PAGE = 50;

/** Memory of the device and the window that the address names; the answer before stays until then. */
export function useMemory(target: Target, report: ReportData): Loaded<MemoryAnswer> {
  const { api } = useServices();
  const [{ memory, shown }] = usePlace();
  const begin = report.trace.start_us;
  const span = shown && { from: shown.from + begin, to: shown.to + begin };
  return useAsk(api.memory, [target, { device: memory.device, span }], report);
}

/** Blocks of a device, the largest first; the page that the address names. */
export function useBlocks(target: Target, device: string, place: MemoryPlace): Loaded<TablePage> {
  const { kind, offset } = place;
  const filter = [`device:eq:${device}`];
  if (kind !== null) filter.push(`memory_class:eq:${kind}`);
  return useRows(target, { table: "memory_blocks", sort: ["-bytes"], filter, offset, limit: PAGE });
}

/** Of these the chart draws each; the others are one area. */
const MOST_DRAWN = 1000;

/** The largest blocks of a device, for the chart; null where it does not draw them. */
export function useDrawnBlocks(target: Target, device: string, drawn: boolean): Loaded<TablePage> {
  return useRows(
    target,
    drawn
      ? {
          table: "memory_blocks",
          sort: ["-bytes"],
          filter: [`device:eq:${device}`],
          limit: MOST_DRAWN,
          columns: ["id", ...BLOCK_COLUMNS],
        }
      : null,
  );
}

export function useChangeMemory(): (change: Partial<MemoryPlace>) => void {
  const { places } = useServices();
  return useCallback(
    (change) => {
      places.go({ memory: { ...places.get().memory, ...change } });
    },
    [places],
  );
}
