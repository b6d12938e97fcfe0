import { getJson, withTarget, type Target } from "./request";
import type { WireWhatIf } from "./types";

/** What is changed in a replay. */
interface Question {
  /** Ids of findings that are gone, or of rules for all of theirs. */
  without: readonly string[];
  scale: readonly { what: string; factor: number }[];
}

export type WhatIfApi = (
  target: Target,
  question: Question,
  signal: AbortSignal,
) => Promise<WireWhatIf>;

export function createWhatIfApi(root: URL): WhatIfApi {
  return (target, { without, scale }, signal) => {
    const url = withTarget(new URL("api/whatif", root), target);
    for (const finding of without) url.searchParams.append("without", finding);
    for (const { what, factor } of scale) url.searchParams.append("scale", `${what}=${factor}`);
    return getJson<WireWhatIf>(url, signal);
  };
}
