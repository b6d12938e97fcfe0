import { define } from "../../text/definitions";

/** What the timeline tells of a stretch that is selected. */
export const STRETCH_DEFINITIONS = {
  length: define("length", "How long the selected stretch is.", "us"),
  events: define("events", "Events of host and devices that touch the stretch.", "count"),
  waits: define("host waits", "How often the host waited for the device.", "count"),
  blocked: define("host blocked", "How long some thread of the host waited for the device.", "us"),
  busy: define("busy", "How long the device had work, as far as it lies in the stretch.", "us"),
  idle: define("idle", "How long the device had nothing to do between its work.", "us"),
  phase: define("phase", "Host time of this phase, within steps.", "us"),
  cause: define("idle by cause", "The part of the idle time that has this cause.", "us"),
  count: define("count", "How many events of this name touch the stretch.", "count"),
  total: define("time", "Their time in the stretch, what is nested in them included.", "us"),
  self: define("self", "The same without what is nested in them.", "us"),
} as const;
