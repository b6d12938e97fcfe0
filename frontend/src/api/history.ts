import { getJson } from "./request";
import type { WireHistory } from "./types";

/** The steps of a watched training, in the folder of a run. */
export type HistoryApi = (run: string, signal: AbortSignal) => Promise<WireHistory>;

export function createHistoryApi(root: URL): HistoryApi {
  return (run, signal) => {
    const url = new URL("api/history", root);
    url.searchParams.set("run", run);
    return getJson(url, signal);
  };
}
