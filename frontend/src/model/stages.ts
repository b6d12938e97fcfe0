const STAGES: Readonly<Record<string, string>> = {
  waiting: "waiting for the reader",
  decoding: "reading events",
  columns: "building columns",
  attribution: "finding the module of every autograd node",
  report: "adding up",
  done: "sending the report",
};

/** What the server is doing, for a person; a stage unknown here is named as it is. */
export function stageText(stage: string | null): string {
  return stage === null ? "asking the server" : (STAGES[stage] ?? stage);
}
