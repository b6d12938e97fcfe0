import type { DryRunReport, DrySync } from "../../api/schema";
import { pathText } from "../../text/names";
import { compareValues, groupBy, type Sort } from "../../text/numbers";

/** Syncs of one place and cause, over the steps that are shown. */
export interface DryPlace {
  readonly id: string;
  /** One of them, which stands for all. */
  readonly sync: DrySync;
  readonly perStep: number;
  /** Steps that have it. */
  readonly steps: readonly number[];
}

export interface DryFilter {
  search: string;
  phase: string | null;
  cause: string | null;
  /** Number of a step; null: the measured ones. */
  step: string | null;
}

/** Places of the steps that a filter chooses, without its other conditions. */
export function placesOf(run: DryRunReport, step: string | null): DryPlace[] {
  const steps = step === null ? run.measured : [Number(step)];
  const inSteps = run.syncs.filter((sync) => steps.includes(sync.step));
  return [...groupBy(inSteps, keyOf).values()].map((group) => {
    const [sync] = group;
    const total = group.reduce((sum, each) => sum + each.count, 0);
    const its = [...new Set(group.map((each) => each.step))];
    return { id: `${sync.id}`, sync, perStep: total / steps.length, steps: its };
  });
}

/** Those of some places that search and filters let through. */
export function fitting(places: readonly DryPlace[], filter: DryFilter): DryPlace[] {
  const wanted = filter.search.trim().toLowerCase();
  return places.filter(
    ({ sync }) =>
      (filter.phase === null || sync.phase === filter.phase) &&
      (filter.cause === null || sync.cause === filter.cause) &&
      (wanted === "" || textOf(sync).toLowerCase().includes(wanted)),
  );
}

/** What a limit counts: certain, and not allowed. */
export function counts({ sync }: DryPlace): boolean {
  return sync.certain && sync.allowed === null;
}

export type DrySortKey = "what" | "perStep" | "cause" | "phase" | "module" | "node";

export function valueOf(place: DryPlace, key: string): string | number | null {
  const { sync } = place;
  if (key === "perStep") return place.perStep;
  if (key === "cause") return sync.cause;
  if (key === "phase") return sync.phase;
  if (key === "module") return sync.module === null ? null : pathText(sync.module);
  if (key === "node") return sync.node;
  return lineText(sync);
}

/** Places in order; what is missing comes last either way. */
export function sorted(places: readonly DryPlace[], { key, descending }: Sort): DryPlace[] {
  const sign = descending ? -1 : 1;
  return [...places].sort((a, b) => compareValues(valueOf(a, key), valueOf(b, key), sign));
}

export function lineText(sync: DrySync): string {
  return sync.line ?? "unknown line";
}

/** What the host waits for, with the forward line where a backward node is at work. */
export function sentence(sync: DrySync): string {
  const of = `${sync.reason} (${sync.within ?? sync.operator})`;
  return sync.forward_line === null ? of : `${of}, in the backward of ${sync.forward_line}`;
}

function keyOf(sync: DrySync): string {
  const { file, line, column, operator, within, phase, module, node, forward_line: of } = sync;
  const { reason, certain, allowed } = sync;
  return JSON.stringify([
    ...[file, line, column, operator, within, phase, module, node, of, reason, certain, allowed],
  ]);
}

function textOf(sync: DrySync): string {
  const { line, code, operator, within, module, node, cause, forward_line: of } = sync;
  return [line, code, operator, within, module, node, cause, of].filter(Boolean).join("\n");
}
