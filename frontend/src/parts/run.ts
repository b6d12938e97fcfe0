import { useMemo } from "react";

import type { RunOverview, Runs } from "../api/schema";
import { type Loaded, useAsk, useServices } from "./services";

/** A run by its name, and what changes when one of its files does. */
export interface RunKey {
  run: string;
  state: string;
}

/** The run of a name as it is listed. */
export function useRunKey(listed: Runs, run: string): RunKey {
  const workers = listed.runs.find(({ name }) => name === run)?.workers ?? [];
  const newest = workers.map(({ traces: [trace] }) => [trace?.modified, trace?.bytes]);
  const state = JSON.stringify(newest);
  return useMemo(() => ({ run, state }), [run, state]);
}

/** Ranks of which all traces are read unasked. */
export const FEW_RANKS = 16;

/** What the traces of a run say together; null reads none. */
export function useOverview(key: RunKey | null): Loaded<RunOverview> {
  const { api } = useServices();
  return useAsk(api.ranks.overview, key === null ? null : [key.run], key);
}
