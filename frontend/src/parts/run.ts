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

export function useOverview(key: RunKey): Loaded<RunOverview> {
  const { api } = useServices();
  return useAsk(api.ranks.overview, [key.run], key);
}
