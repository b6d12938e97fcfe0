import { define } from "../../text/definitions";

export const DRY_RUN_DEFINITIONS = {
  what: define("place", "The line of the program, and the whole statement that it is a part of."),
  perStep: define(
    "per step",
    "How often the host would wait for a GPU here, divided by the number of steps shown.",
    "count",
  ),
  cause: define("cause", "The rule of the findings that such a sync of a recording belongs to."),
  phase: define("phase", "Forward, backward, optimizer, or other."),
  module: define("module", "In the backward pass the module whose forward made the node."),
  node: define("node", "The autograd node that was being evaluated."),
  syncs: define(
    "syncs per step",
    "How often the host would wait for a GPU: certain syncs that are not allowed.",
    "count",
  ),
  most: define("most in a step", "The same for the step that has the most.", "count"),
  places: define("places", "Lines and causes with such a sync.", "count"),
  steps: define("steps", "Completed steps; the first includes the setup."),
} as const;
