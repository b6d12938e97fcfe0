import { getJson, withTarget, type Target } from "./request";
import type { CallMeasure, WireBars, WireKernelSearch, WireModuleDetail } from "./types";

export interface ModuleApi {
  readonly detail: (target: Target, path: string, signal: AbortSignal) => Promise<WireModuleDetail>;
  /** At most `MOST_PATHS` modules. */
  readonly bars: (
    target: Target,
    measure: CallMeasure,
    paths: readonly string[],
    signal: AbortSignal,
  ) => Promise<WireBars>;
  /** `text` is of 1 to `MOST_TEXT` characters. */
  readonly search: (target: Target, text: string, signal: AbortSignal) => Promise<WireKernelSearch>;
}

/** Modules whose bars may be asked for at a time. */
export const MOST_PATHS = 100;

/** Characters of a text that kernels are searched for. */
export const MOST_TEXT = 200;

export function createModuleApi(base: URL): ModuleApi {
  return {
    detail: (target, path, signal) => {
      const url = withTarget(new URL("api/module", base), target);
      url.searchParams.set("path", path);
      return getJson(url, signal);
    },
    bars: (target, measure, paths, signal) => {
      const url = withTarget(new URL("api/module/bars", base), target);
      url.searchParams.set("measure", measure);
      for (const path of paths) url.searchParams.append("path", path);
      return getJson(url, signal);
    },
    search: (target, text, signal) => {
      const url = withTarget(new URL("api/module/search", base), target);
      url.searchParams.set("q", text);
      return getJson(url, signal);
    },
  };
}
