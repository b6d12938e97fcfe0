/** What things of a trace are called in running text. */

/** What stands for a path in running text: an unnamed root has the empty path. */
export function pathText(path: string): string {
  return path === "" ? "(root)" : path;
}

/** The class, where the path does not say it already, as labels of Python stacks do. */
export function classUnlessSame(module: { path: string; class: string }): string {
  const { path, class: name } = module;
  const said = path.startsWith(name) && /^(_\d+)?$/.test(path.slice(name.length));
  return said ? "" : name;
}

/** Why the host waited, in words; the cause's own name where no rule names it. */
export function causeTitle(
  cause: string,
  rules: readonly { id: string; title: string }[] | null,
): string {
  if (isProfiler(cause)) return "The profiler syncs as it starts or stops";
  return rules?.find((rule) => rule.id === cause)?.title ?? cause;
}

/** The last part of a path or an address. */
export function fileName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

/** Whether it is the call that the profiler itself makes as it stops: no fault of the training. */
export function isProfiler(cause: string): boolean {
  return cause === "profiler";
}

/** ProfilerStep#5 is step 5 to everyone; null is the mean of all. */
export function stepLabel(name: string | null): string {
  return name === null ? "mean" : name.replace(/^ProfilerStep#/, "");
}

/** A trace that marks no steps is one step of this name. */
const WHOLE_TRACE = "whole trace";

/** "step 5", or what the one step of a trace without steps is. */
export function stepTitle(name: string): string {
  return name === WHOLE_TRACE ? name : `step ${stepLabel(name)}`;
}

/** A phrase as a heading, or at the beginning of a sentence. */
export function capitalized(phrase: string): string {
  return phrase.charAt(0).toUpperCase() + phrase.slice(1);
}

const KIND_TEXTS: Readonly<Record<string, string>> = { matrix: "GEMM", set: "memset" };

/** A kind of device events as profilers call it; addresses, tables and SQL have the value. */
export function kindText(kind: string): string {
  return KIND_TEXTS[kind] ?? kind;
}

/** Times of traces, to choose one by; with their ids where two have the same, or none. */
export function traceOptions(
  traces: readonly { id: string; modified: number }[],
): { value: string; text: string }[] {
  const times = traces.map(({ modified }) => {
    const date = new Date(modified * 1000);
    return Number.isNaN(date.getTime()) ? "" : date.toLocaleString();
  });
  return traces.map(({ id }, at) => {
    const time = times[at] ?? "";
    const alone = time !== "" && times.indexOf(time) === times.lastIndexOf(time);
    return { value: id, text: alone ? time : `${time} (${id})`.trim() };
  });
}
