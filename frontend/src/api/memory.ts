import { getJson, withTarget, type Target } from "./request";
import type { WireMemory, WirePage } from "./types";

/** Which device, and which part of the trace in microseconds on its clock; null all of it. */
interface MemoryQuestion {
  device: string | null;
  span: { from: number; to: number } | null;
}

/** Which rows of a table: `sort` and `filter` as docs/reference/http_api.md has them. */
interface TableQuestion {
  table: string;
  sort: string;
  filter: readonly string[];
  offset: number;
  limit: number;
}

export interface MemoryApi {
  readonly at: (
    target: Target,
    question: MemoryQuestion,
    signal: AbortSignal,
  ) => Promise<WireMemory>;
  readonly table: (
    target: Target,
    question: TableQuestion,
    signal: AbortSignal,
  ) => Promise<WirePage>;
}

export function createMemoryApi(root: URL): MemoryApi {
  return {
    at: (target, { device, span }, signal) => {
      const url = withTarget(new URL("api/memory", root), target);
      if (device !== null) url.searchParams.set("device", device);
      if (span !== null) {
        url.searchParams.set("start", String(span.from));
        url.searchParams.set("end", String(span.to));
      }
      return getJson<WireMemory>(url, signal);
    },
    table: (target, { table, sort, filter, offset, limit }, signal) => {
      const url = withTarget(new URL(`api/table/${table}`, root), target);
      url.searchParams.set("sort", sort);
      for (const each of filter) url.searchParams.append("filter", each);
      url.searchParams.set("offset", String(offset));
      url.searchParams.set("limit", String(limit));
      return getJson<WirePage>(url, signal);
    },
  };
}
