import { getJson } from "./request";
import { withRows, type TableQuestion } from "./tables";
import type {
  WireCollectiveRanks,
  WireProgress,
  WireRankActivity,
  WireRunOverview,
  WireStepMatrix,
  WireTablePage,
} from "./types";

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
  /** A collective on some of its ranks, after those that are left out first. */
  readonly collective: (
    run: string,
    question: { id: number; offset: number },
    signal: AbortSignal,
  ) => Promise<WireCollectiveRanks>;
  /** What a rank ran around a collective. */
  readonly around: (
    run: string,
    question: { id: number; rank: number },
    signal: AbortSignal,
  ) => Promise<WireRankActivity>;
  /** Where a trace of a collective on several ranks is, for Perfetto. */
  readonly collectiveFile: (run: string, id: number) => string;
  readonly progress: (run: string, signal: AbortSignal) => Promise<WireProgress>;
}

export function createRanksApi(root: URL): RanksApi {
  const at = (path: string, run: string, numbers: Record<string, number> = {}): URL => {
    const url = new URL(`api/ranks${path}`, root);
    url.searchParams.set("run", run);
    for (const [key, value] of Object.entries(numbers)) url.searchParams.set(key, String(value));
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
    collective: (run, question, signal) => getJson(at("/collective", run, question), signal),
    around: (run, question, signal) => getJson(at("/collective/rank", run, question), signal),
    collectiveFile: (run, id) => at("/collective/file", run, { id }).href,
    progress: (run, signal) => getJson(at("/progress", run), signal),
  };
}
