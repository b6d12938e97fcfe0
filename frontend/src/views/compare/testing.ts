import type { Comparison, KernelChange, ModuleChange, Pair, SyncChange } from "../../api/schema";

/** Small comparisons for tests: say what matters, the rest is filled in. */

export function pair(base: number | null, other: number | null): Pair {
  return { base, other, change: base === null || other === null ? null : other - base };
}

const NONE = pair(0, 0);

export function moduleChange(
  path: string,
  backward: Pair,
  rest: Partial<ModuleChange> = {},
): ModuleChange {
  return {
    id: path,
    base_id: 0,
    other_id: 0,
    path,
    class: "Linear",
    status: backward.change === 0 ? "same" : "changed",
    forward_us: NONE,
    backward_us: backward,
    syncs: NONE,
    sync_blocked_us: NONE,
    sync_idle_us: NONE,
    base_path: path,
    other_path: path,
    ...rest,
  };
}

export function syncChange(
  cause: string,
  blocked: Pair,
  rest: Partial<SyncChange> = {},
): SyncChange {
  const site = { module: "head", module_id: 4, node: null, operator: "aten::item", frame: null };
  return {
    id: cause,
    base_id: 0,
    other_id: 0,
    cause,
    status: "changed",
    base_site: site,
    other_site: site,
    count: NONE,
    blocked_us: blocked,
    device_idle_us: NONE,
    ...rest,
  };
}

export function kernelChange(name: string, total: Pair): KernelChange {
  const status = total.change === 0 ? "same" : "changed";
  const ids = { id: name, base_id: 0, other_id: 0 };
  return { ...ids, name, kind: "matrix", event: "kernel", status, count: NONE, total_us: total };
}

/** A step of 100 us on both sides in which nothing changed. */
export function comparison(rest: Partial<Comparison> = {}): Comparison {
  const side = {
    path: "a.json",
    steps: 1,
    step_names: ["ProfilerStep#1"],
    of: 0,
    text: "",
    marked: true,
    bound: "device" as const,
    warnings: [],
  };
  return {
    schema: 1,
    measure: "device",
    base: side,
    other: side,
    step_us: pair(100, 100),
    whole_step_us: rest.step_us ?? pair(100, 100),
    unrecorded_step_us: NONE,
    forward_us: pair(30, 30),
    backward_us: pair(60, 60),
    backward_unattributed_us: NONE,
    syncs: NONE,
    sync_blocked_us: NONE,
    modules: [],
    speedup: 1,
    phases_us: {
      forward: pair(30, 30),
      backward: pair(60, 60),
      optimizer: NONE,
      data: NONE,
      other: pair(10, 10),
    },
    device_busy_us: pair(80, 80),
    device_idle_us: pair(20, 20),
    idle_us: { launch: pair(20, 20), sync: NONE },
    device_us_by_kind: {},
    sync_sites: [],
    kernels: [],
    kernels_omitted_us: NONE,
    findings: [],
    spread: {},
    memory: [],
    ...rest,
  };
}
