import { define } from "../../text/definitions";

/** Columns of the lists of events in a panel. */
export const EVENT_LIST_DEFINITIONS = {
  start: define("start", "When it began, counted from the beginning of the trace.", "us"),
  where: define("phase, module", "The phase it is in, and the module it belongs to."),
} as const;
