import { useEffect, useState } from "react";

import type { TableQuestion } from "../../api/client";
import type { RankActivity, StepMatrix, TablePage } from "../../api/schema";
import type { RunKey } from "../../parts/run";
import { rowsOf, type TableRow } from "../../parts/serverTable/rows";
import { type Loaded, useAsk, usePlace, useServices } from "../../parts/services";
import type { RankQuantity, RanksPlace } from "./address";

/** A quantity of steps by ranks, and the steps' durations. */
export function useSteps(key: RunKey, heat: RankQuantity, offset: number): Loaded<StepMatrix> {
  const { api } = useServices();
  return useAsk(api.ranks.steps, [key.run, [heat, "duration"], offset], key);
}

/** Some rows of a table of the run; null asks nothing. */
export function useRunRows(key: RunKey, question: TableQuestion | null): Loaded<TablePage> {
  const { api } = useServices();
  return useAsk(api.ranks.table, question === null ? null : [key.run, question], key);
}

/** A row of a table of the run by its id; null asks for none. */
export function useRunRow(key: RunKey, table: string, id: number | null): TableRow | undefined {
  const question = id === null ? null : { table, filter: [`id:eq:${id}`], limit: 1 };
  return rowsOf(useRunRows(key, question).value)[0];
}

/** What ranks ran around a collective by rank, as far as it came; null where that failed. */
export type Activities = ReadonlyMap<number, RankActivity | null>;

const NOTHING_YET: Activities = new Map();

/** One rank after the other, since the server may have to read the trace of each. */
export function useActivities(key: RunKey, id: number, ranks: readonly number[]): Activities {
  const { api } = useServices();
  const asked = JSON.stringify([key.run, key.state, id, ranks]);
  const [found, setFound] = useState({ asked, activities: NOTHING_YET });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const [run, , collective, each] = JSON.parse(asked) as [string, string, number, number[]];
    const load = async (): Promise<void> => {
      const activities = new Map<number, RankActivity | null>();
      for (const rank of each) {
        activities.set(
          rank,
          await api.ranks.around(run, collective, rank, signal).catch(() => null),
        );
        if (signal.aborted) return;
        setFound({ asked, activities: new Map(activities) });
      }
    };
    void load();
    return () => controller.abort();
  }, [api, asked]);
  return found.asked === asked ? found.activities : NOTHING_YET;
}

/** Change the view's part of the place; `replace` leaves no entry in the history. */
export function useChangeRanks(): (change: Partial<RanksPlace>, replace?: boolean) => void {
  const [{ ranks }, go] = usePlace();
  return (change, replace = false) => go({ ranks: { ...ranks, ...change } }, replace);
}
