import { PathTime } from "../api/fields";
import { defineField } from "../text/definitions";

/** What passes the time of the critical path: the chain of dependencies that decides a step. */
export const PATH_DEFINITIONS = {
  host: defineField("host", PathTime.host),
  data: defineField("data loading", PathTime.data),
  device: defineField("device", PathTime.device),
  communication: defineField("communication", PathTime.communication),
  wait: defineField("latencies", PathTime.wait),
  unexplained: defineField("unexplained", PathTime.unexplained),
} as const;

export type PathPart = keyof typeof PATH_DEFINITIONS;

/** Parts of the critical path, in the order in which they are drawn. */
export const PATH_PARTS = [
  "host",
  "data",
  "device",
  "communication",
  "wait",
  "unexplained",
] as const satisfies readonly PathPart[];
