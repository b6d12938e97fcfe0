import type { KnownTrace, ListedRun } from "../api/schema";

/** A run to choose. */
export interface RunChoice {
  readonly name: string;
  readonly workers: number;
  /** Of its first worker that was analyzed before; null: of none. */
  readonly known: KnownTrace | null;
}

/** The runs in which each word of a search is found: in the name, device or verdict. */
export function runChoices(
  runs: readonly ListedRun[],
  known: readonly KnownTrace[],
  search: string,
): RunChoice[] {
  const byRun = new Map<string, KnownTrace>();
  for (const trace of known) if (!byRun.has(trace.run)) byRun.set(trace.run, trace);
  const words = search.toLowerCase().split(/\s+/);
  return runs
    .map(({ name, workers }) => ({
      name,
      workers: workers.length,
      known: byRun.get(name) ?? null,
    }))
    .filter(({ name, known: of }) => {
      const text = [name, ...(of?.devices ?? []), of?.bound, of?.sentence].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
}
