import { useCallback, useEffect, useRef, useState } from "react";

import type { Target } from "../../api/request";
import type { Finding, ReportData, WhatIf } from "../../api/schema";
import { type Loaded, useAsk, useServices } from "../../parts/services";
import { duration } from "../../text/formats";
import { kindText, pathText } from "../../text/names";
import { type Factor, parseFactor, type WhatIfPlace } from "./address";

/** What can be scaled without a name of its own, in the order in which it is offered. */
export const PLAIN = ["host", "launches", "data", "kernels", "communication"] as const;
type Plain = (typeof PLAIN)[number];

/** Taken out or not; there is nothing in between. */
export const SYNCS = "syncs";

/** What can be scaled by a name: the beginnings of `scale`. */
export const NAMED = ["kind", "module", "kernel"] as const;
export type Named = (typeof NAMED)[number];

/** What is asked of the server: a factor of 1 changes nothing. */
export function asked(place: WhatIfPlace): WhatIfPlace {
  return { without: place.without, scale: place.scale.filter(({ factor }) => factor !== 1) };
}

/** Whether something is changed. */
export function isChanged(place: WhatIfPlace): boolean {
  const { without, scale } = asked(place);
  return without.length + scale.length > 0;
}

/** Whether a finding is gone, by itself or with all of its rule. */
export function isGone(place: WhatIfPlace, finding: Finding): boolean {
  return place.without.includes(finding.id) || place.without.includes(finding.rule);
}

/** A finding that was there gone, or the other way; of a rule that was gone, the others stay so. */
export function toggled(
  place: WhatIfPlace,
  finding: Finding,
  findings: readonly Finding[],
): WhatIfPlace {
  if (!isGone(place, finding)) return { ...place, without: [...place.without, finding.id] };
  const others = findings.filter(({ rule, id }) => rule === finding.rule && id !== finding.id);
  const without = place.without.flatMap((id) =>
    id === finding.rule ? others.map((other) => other.id) : id === finding.id ? [] : [id],
  );
  return { ...place, without: [...new Set(without)] };
}

/** All findings gone, by their rules: that keeps the address short. */
export function allGone(place: WhatIfPlace, findings: readonly Finding[]): WhatIfPlace {
  return { ...place, without: [...new Set(findings.map(({ rule }) => rule))] };
}

/** What an address takes out that no finding of the report is. */
export function unknownFindings(place: WhatIfPlace, findings: readonly Finding[]): string[] {
  const known = new Set(findings.flatMap(({ id, rule }) => [id, rule]));
  return place.without.filter((id) => !known.has(id));
}

/** The factor of something; 1 where it has none. */
export function factorOf(place: WhatIfPlace, what: string): number {
  return place.scale.find((factor) => factor.what === what)?.factor ?? 1;
}

/** Give something a factor; what has a name of its own stays listed at 1, so that it can go on. */
export function scaled(place: WhatIfPlace, what: string, factor: number): WhatIfPlace {
  if (factor === 1 && isPlain(what)) return unscaled(place, what);
  const changed = { what, factor };
  const listed = place.scale.some((one) => one.what === what);
  return {
    ...place,
    scale: listed
      ? place.scale.map((one) => (one.what === what ? changed : one))
      : [...place.scale, changed],
  };
}

export function unscaled(place: WhatIfPlace, what: string): WhatIfPlace {
  return { ...place, scale: place.scale.filter((one) => one.what !== what) };
}

/** What was added by name, in the order of the address. */
export function added(place: WhatIfPlace): readonly Factor[] {
  return place.scale.filter(({ what }) => !isPlain(what));
}

function isPlain(what: string): boolean {
  return what === SYNCS || PLAIN.some((plain) => plain === what);
}

/** Why something cannot be scaled in these steps; null where it can. */
export function nothingOf(report: ReportData, what: Plain | typeof SYNCS): string | null {
  const { totals, steps, devices, per_step: means } = report;
  if (what === "host") return null;
  if (what === "data") {
    return steps.some((step) => (step.data_us ?? 0) > 0) ? null : "no data loading here";
  }
  if (what === SYNCS) {
    if (totals.sync_count === null) return "syncs unknown in this trace";
    return totals.sync_count > (totals.profiler_sync_count ?? 0) ? null : "no syncs here";
  }
  if (what === "communication") {
    if ((totals.communication_device_us ?? 0) > 0) return null;
    const onHost = (means.communication_wait_us ?? 0) > 0;
    return onHost ? "collectives on the host keep their length" : "no collectives here";
  }
  return devices.length > 0 ? null : "no device events here";
}

/** Something to choose, most expensive first. */
interface Choice {
  readonly name: string;
  readonly text: string;
}

/** No list of choices is longer: the rest takes too little to matter. */
const MOST_CHOICES = 300;

const CHOICE_TEXT: Readonly<Record<Named, (name: string) => string>> = {
  kind: kindText,
  module: pathText,
  kernel: (name) => name,
};

/** What of a report can be scaled by name. */
export function choices(report: ReportData, named: Named): Choice[] {
  return amounts(report, named)
    .filter(([, us]) => us > 0)
    .sort(([, one], [, other]) => other - one)
    .slice(0, MOST_CHOICES)
    .map(([name, us]) => ({
      name,
      text: `${CHOICE_TEXT[named](name)} · ${duration(us)}`,
    }));
}

function amounts(report: ReportData, named: Named): [name: string, us: number][] {
  const steps = Math.max(1, report.steps.length);
  if (named === "kind") {
    return Object.entries(report.totals.device_us_by_kind).map(([kind, us]) => [kind, us / steps]);
  }
  const sums = new Map<string, number>();
  const add = (name: string, us: number | null): void => {
    sums.set(name, (sums.get(name) ?? 0) + (us ?? 0) / steps);
  };
  if (named === "kernel") {
    for (const { name, total_us: us } of report.kernels) add(name, us);
  } else {
    for (const { path, forward, backward } of report.modules) {
      add(path, forward.compute_us ?? forward.host_us);
      add(path, backward.compute_us ?? backward.host_us);
    }
  }
  return [...sums];
}

/** How long a factor rests before it is asked about. */
const REST_MS = 150;

/**
 * The answer to what the address asks, with or without the critical path by module; the one before
 * stays until it is there.
 */
export function useAnswer(
  target: Target,
  report: ReportData,
  place: WhatIfPlace,
  modules: boolean,
): Loaded<WhatIf> {
  const { api } = useServices();
  return useAsk(api.whatIf.answer, [target, asked(place), modules], report);
}

/** Change the question; `quietly` leaves no step in the browser's history. */
type ChangeQuestion = (change: (place: WhatIfPlace) => WhatIfPlace, quietly?: boolean) => void;

export function useChangeQuestion(): ChangeQuestion {
  const { places } = useServices();
  return useCallback(
    (change, quietly = false) => places.go({ whatIf: change(places.get().whatIf) }, quietly),
    [places],
  );
}

/**
 * A factor while it is typed or dragged: its text at once, the factor itself when it rests. What
 * changes it from elsewhere wins.
 */
export function useFactor(
  factor: number,
  onFactor: (factor: number) => void,
): [text: string, change: (text: string) => void] {
  const [draft, setDraft] = useState({ text: "", from: NaN });
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const change = (text: string): void => {
    window.clearTimeout(timer.current);
    setDraft({ text, from: factor });
    const wanted = parseFactor(text);
    if (wanted !== null) timer.current = window.setTimeout(onFactor, REST_MS, wanted);
  };
  const current = draft.from === factor || parseFactor(draft.text) === factor;
  return [current ? draft.text : String(factor), change];
}
