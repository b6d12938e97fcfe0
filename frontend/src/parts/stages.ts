import type { WireProgress } from "../api/types";
import { bytes, counted } from "../text/formats";

const STAGES: Readonly<Record<string, string>> = {
  waiting: "waiting for the reader",
  decoding: "reading events",
  columns: "building columns",
  attribution: "finding the module of every autograd node",
  done: "adding up",
};

/** What the server is doing with a file of `size` bytes; a stage unknown here is named as it is. */
export function progressText(progress: WireProgress | null, size: number): string {
  if (progress === null) return "asking the server";
  const parts = [STAGES[progress.stage] ?? progress.stage];
  if (progress.bytes !== null && progress.bytes < size) {
    parts.push(`${bytes(progress.bytes)} of ${bytes(size)}`);
  }
  if (progress.events !== null && progress.events > 0) {
    parts.push(counted(progress.events, "event"));
  }
  return parts.join(" · ");
}
