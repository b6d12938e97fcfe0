import { oneOf, record, text, whole, type Read } from "../../text/query";

export const MEMORY_TABLES = ["peak", "activations", "blocks", "operators"] as const;
const MEMORY_CHARTS = ["class", "block"] as const;
export type MemoryTable = (typeof MEMORY_TABLES)[number];

/** What an address says of the memory; the window is that of the timeline. */
export const MEMORY = record({
  /** As `torch.device` spells it; null the one that matters most. */
  device: text("device"),
  /** What the chart stacks. */
  chart: oneOf("stack", MEMORY_CHARTS, "class"),
  table: oneOf("list", MEMORY_TABLES, "peak"),
  /** Class of the blocks that are listed; null all. */
  kind: text("class"),
  /** Blocks before the first that is listed. */
  offset: whole("offset", 0),
});
export type MemoryPlace = Read<typeof MEMORY>;
