import { getJson, withTarget, type Target } from "./request";
import type { WireTimeline, WireWhatIf, WireWindow } from "./types";

/** What is changed in a replay. */
interface Question {
  /** Ids of findings that are gone, or of rules for all of theirs. */
  without: readonly string[];
  scale: readonly { what: string; factor: number }[];
}

export interface WhatIfApi {
  /** The answer; `modules` is whether with the critical path by module, which takes longer. */
  readonly answer: (
    target: Target,
    question: Question,
    modules: boolean,
    signal: AbortSignal,
  ) => Promise<WireWhatIf>;
  /** The lanes of the replayed steps, as recorded and as predicted. */
  readonly lanes: (
    target: Target,
    question: Question,
    signal: AbortSignal,
  ) => Promise<WireTimeline>;
  /** What these lanes show between two times, at a width in pixels. */
  readonly window: (
    target: Target,
    question: Question,
    view: { from: number; to: number; width: number },
    signal: AbortSignal,
  ) => Promise<WireWindow>;
}

export function createWhatIfApi(root: URL): WhatIfApi {
  const at = (path: string, target: Target, { without, scale }: Question): URL => {
    const url = withTarget(new URL(`api/whatif${path}`, root), target);
    for (const finding of without) url.searchParams.append("without", finding);
    for (const { what, factor } of scale) url.searchParams.append("scale", `${what}=${factor}`);
    return url;
  };
  return {
    answer: (target, question, modules, signal) => {
      const url = at("", target, question);
      if (!modules) url.searchParams.set("modules", "0");
      return getJson(url, signal);
    },
    lanes: (target, question, signal) => getJson(at("/lanes", target, question), signal),
    window: (target, question, { from, to, width }, signal) => {
      const url = at("/window", target, question);
      for (const [key, value] of Object.entries({ start: from, end: to, width })) {
        url.searchParams.set(key, String(value));
      }
      return getJson(url, signal);
    },
  };
}
