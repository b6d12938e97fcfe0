import type { Measure } from "../../report/measures";

/** What of a module's time is looked at. */
export const QUANTITIES = ["forward", "backward", "recompute", "communication"] as const;
export type Quantity = (typeof QUANTITIES)[number];

/** What makes one row of the table: an instance, all of a class, or all of a level. */
export const GROUPINGS = ["instance", "class", "depth"] as const;
export type Grouping = (typeof GROUPINGS)[number];

const CLOCKS = ["device", "host"] as const;

/** What an address says of the view of modules, apart from names, which all views have. */
export interface ModulesPlace {
  /** What of the modules' time is shown, and whose; null what suits the trace. */
  quantity: Quantity | null;
  clock: Measure | null;
  group: Grouping;
  /** Whether the forward stands next to what is shown. */
  withForward: boolean;
}

export const NO_MODULES: ModulesPlace = {
  quantity: null,
  clock: null,
  group: "instance",
  withForward: false,
};

export function modulesToQuery(place: ModulesPlace, query: URLSearchParams): void {
  if (place.quantity !== null) query.set("measure", place.quantity);
  if (place.clock !== null) query.set("clock", place.clock);
  if (place.group !== NO_MODULES.group) query.set("group", place.group);
  if (place.withForward) query.set("with", "forward");
}

export function modulesFromQuery(query: URLSearchParams): ModulesPlace {
  return {
    quantity: QUANTITIES.find((name) => name === query.get("measure")) ?? null,
    clock: CLOCKS.find((name) => name === query.get("clock")) ?? null,
    group: GROUPINGS.find((name) => name === query.get("group")) ?? NO_MODULES.group,
    withForward: query.get("with") === "forward",
  };
}
