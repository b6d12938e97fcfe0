import { getJson, withTarget, type Target } from "./request";

/** One module by itself, as the server sends it: microseconds, children included. */

export interface WireAmount {
  count: number;
  device_us: number;
  self_count: number;
  self_device_us: number;
}

export interface WireKernelAmounts {
  forward: WireAmount;
  backward: WireAmount;
  /** A part of `backward`. */
  recompute: WireAmount;
}

export interface WireKernelUse extends WireKernelAmounts {
  name: string;
  kind: string;
  /** "kernel", "copy" or "set". */
  event: string;
  tensor_core: boolean | null;
}

export interface WireNodeAmounts {
  count: number;
  host_us: number;
  device_us: number | null;
  self_count: number;
  self_host_us: number;
  self_device_us: number | null;
}

export interface WireNodeUse extends WireNodeAmounts {
  name: string;
}

export interface WireParameters {
  count: number;
  bytes: number;
  self_count: number;
  self_bytes: number;
  trainable: boolean;
  /** Parameters that an earlier module holds too. */
  shared: { parameter: string; owner: string; owner_parameter: string }[];
}

export interface WireUnplaced {
  forward_host_us: number;
  forward_device_us: number | null;
  backward_host_us: number;
  backward_device_us: number | null;
}

/** One call, or a bin of consecutive ones. */
export interface WireCall extends WireUnplaced {
  calls: number;
  start_us: number;
  duration_us: number;
  /** null: no autograd node of it ran. */
  backward_start_us: number | null;
  backward_duration_us: number | null;
}

export type CallMeasure = keyof WireUnplaced;

export interface WireCalls {
  count: number;
  binned: boolean;
  rows: WireCall[];
  /** Time of the module that is in none of its calls. */
  unplaced: WireUnplaced;
  slowest: Partial<Record<CallMeasure, WireCall>>;
}

export interface WireModuleDetail {
  path: string;
  kernels: WireKernelUse[];
  kernels_omitted: (WireKernelAmounts & { names: number }) | null;
  nodes: WireNodeUse[];
  nodes_omitted: (WireNodeAmounts & { names: number }) | null;
  parameters: WireParameters | null;
  calls: WireCalls;
}

/** What calls cost over time, by the path of the module. */
export type WireBars = Record<string, number[]>;

/** The modules whose own kernels, copies or sets hold a text in their names. */
export interface WireKernelSearch {
  /** Different names that hold it. */
  names: number;
  paths: string[];
  omitted: number;
}

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
