import { getJson } from "./request";
import { withRows, type TableQuestion } from "./tables";
import type { WireProgress, WireRunOverview, WireStepMatrix, WireTablePage } from "./types";

/** What is asked of the steps of a run. */
interface StepsQuestion {
  quantities: readonly string[];
  /** Steps to leave out first. */
  offset: number;
}

/** A run by its name; the newest trace of each of its workers is a rank. */
export interface RanksApi {
  readonly overview: (run: string, signal: AbortSignal) => Promise<WireRunOverview>;
  readonly steps: (
    run: string,
    question: StepsQuestion,
    signal: AbortSignal,
  ) => Promise<WireStepMatrix>;
  readonly table: (
    run: string,
    question: TableQuestion,
    signal: AbortSignal,
  ) => Promise<WireTablePage>;
  readonly progress: (run: string, signal: AbortSignal) => Promise<WireProgress>;
}

export function createRanksApi(root: URL): RanksApi {
  const at = (path: string, run: string): URL => {
    const url = new URL(`api/ranks${path}`, root);
    url.searchParams.set("run", run);
    return url;
  };
  return {
    overview: (run, signal) => getJson(at("", run), signal),
    steps: (run, { quantities, offset }, signal) => {
      const url = at("/steps", run);
      for (const quantity of quantities) url.searchParams.append("quantity", quantity);
      url.searchParams.set("offset", String(offset));
      return getJson(url, signal);
    },
    table: (run, question, signal) =>
      getJson(withRows(at(`/table/${question.table}`, run), question), signal),
    progress: (run, signal) => getJson(at("/progress", run), signal),
  };
}
