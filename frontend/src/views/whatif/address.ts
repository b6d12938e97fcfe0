import type { Codec } from "../../text/query";

/** How long something takes, in multiples of the recorded time. */
export interface Factor {
  /** `host`, `kind:copy`, `module:layer1`: as `scale` of docs/reference/http_api.md. */
  readonly what: string;
  readonly factor: number;
}

/** What of a what-if an address says: what is gone, and what takes another time. */
export interface WhatIfPlace {
  /** Ids of findings that are gone, or of rules for all of theirs. */
  readonly without: readonly string[];
  readonly scale: readonly Factor[];
}

/** The largest factor that the server takes. */
export const MOST_FACTOR = 1000;

const NOTHING: WhatIfPlace = { without: [], scale: [] };

export const WHATIF: Codec<WhatIfPlace> = {
  start: NOTHING,
  write: ({ without, scale }, query) => {
    for (const finding of without) query.append("without", finding);
    for (const { what, factor } of scale) query.append("scale", `${what}=${factor}`);
  },
  read: (query) => {
    const without = [...new Set(query.getAll("without"))].filter((id) => id !== "");
    const scale = new Map<string, number>();
    for (const text of query.getAll("scale")) {
      const at = text.lastIndexOf("=");
      const factor = parseFactor(text.slice(at + 1));
      if (at > 0 && factor !== null) scale.set(text.slice(0, at), factor);
    }
    if (without.length === 0 && scale.size === 0) return NOTHING;
    return { without, scale: [...scale].map(([what, factor]) => ({ what, factor })) };
  },
};

/** A factor that someone typed; null where it is none. */
export function parseFactor(text: string): number | null {
  const factor = text.trim() === "" ? NaN : Number(text);
  return factor >= 0 && factor <= MOST_FACTOR ? factor : null;
}
