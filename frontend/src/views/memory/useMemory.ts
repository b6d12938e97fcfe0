import { useCallback, useMemo } from "react";

import type { MemoryQuestion } from "../../api/client";
import type { Target } from "../../api/request";
import type { WireMemory, WireTablePage, WireReport } from "../../api/types";
import { useRows } from "../../parts/serverTable/rows";
import { useLoad, usePlace, useServices, type Loaded } from "../../parts/services";
import type { MemoryPlace } from "./address";
import { BLOCK_COLUMNS } from "./blockStack";

/** Rows of a page of blocks. */
export const PAGE = 50;

/** Memory of the device and the window that the address names; the answer before stays until then. */
export function useMemory(target: Target, report: WireReport): Loaded<WireMemory> {
  const { api } = useServices();
  const [{ memory, shown }] = usePlace();
  const begin = report.trace.start_us;
  const key = JSON.stringify([
    target,
    { device: memory.device, span: shown && { from: shown.from + begin, to: shown.to + begin } },
  ]);
  const load = useMemo(() => {
    const [of, question] = JSON.parse(key) as [Target, MemoryQuestion];
    return (signal: AbortSignal) => api.memory(of, question, signal);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- another report is another trace
  }, [api, key, report]);
  return useLoad(load);
}

/** Blocks of a device, the largest first; the page that the address names. */
export function useBlocks(
  target: Target,
  device: string,
  place: MemoryPlace,
): Loaded<WireTablePage> {
  const { api } = useServices();
  const { kind, offset } = place;
  const load = useMemo(() => {
    const filter = [`device:eq:${device}`];
    if (kind !== null) filter.push(`memory_class:eq:${kind}`);
    const question = { table: "memory_blocks", sort: ["-bytes"], filter, offset, limit: PAGE };
    return (signal: AbortSignal) => api.table(target, question, signal);
  }, [api, target, device, kind, offset]);
  return useLoad(load);
}

/** Of these the chart draws each; the others are one area. */
const MOST_DRAWN = 1000;

/** The largest blocks of a device, for the chart; null where it does not draw them. */
export function useDrawnBlocks(
  target: Target,
  device: string,
  drawn: boolean,
): Loaded<WireTablePage> {
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
