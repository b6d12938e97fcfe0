import { flag, oneOf } from "../../text/query";

/** What of a module's time is looked at. */
export const QUANTITIES = ["forward", "backward", "recompute", "communication"] as const;
export type Quantity = (typeof QUANTITIES)[number];

/** What makes one row of the table: an instance, all of a class, or all of a level. */
export const GROUPINGS = ["instance", "class", "depth"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** What an address says of the view of modules, apart from names, which all views have. */
export const MODULES = {
  /** What of the modules' time is shown, and whose; null what suits the trace. */
  quantity: oneOf("measure", QUANTITIES, null),
  clock: oneOf("clock", ["device", "host"], null),
  group: oneOf("group", GROUPINGS, "instance"),
  /** Whether the forward stands next to what is shown. */
  withForward: flag("with", "forward"),
};
