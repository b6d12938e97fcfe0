import type { KeyboardEvent } from "react";

import type { MemoryCurve, ReportData } from "../../api/schema";
import { usePlace } from "../../parts/services";
import type { Span } from "../../text/span";
import { moved } from "./curve";

export interface Window {
  whole: boolean;
  zoom: (from: number, to: number) => void;
  reset: () => void;
  onKey: (event: KeyboardEvent) => void;
}

/** The window of the address, which the timeline has too. */
export function useWindow(curve: MemoryCurve, report: ReportData): Window {
  const [{ shown }, go] = usePlace();
  const begin = report.trace.start_us;
  const whole = { from: 0, to: report.trace.duration_us };
  const now: Span = { from: curve.start_us - begin, to: curve.end_us - begin };
  const keys: Readonly<Record<string, () => Span | null>> = {
    "+": () => moved(now, 0.5, 0, whole),
    "=": () => moved(now, 0.5, 0, whole),
    "-": () => moved(now, 2, 0, whole),
    ArrowLeft: () => moved(now, 1, -0.25, whole),
    ArrowRight: () => moved(now, 1, 0.25, whole),
    Home: () => null,
  };
  return {
    whole: shown === null,
    zoom: (from, to) => {
      const length = now.to - now.from;
      const [low, high] = from < to ? [from, to] : [to, from];
      go({ shown: { from: now.from + low * length, to: now.from + high * length } });
    },
    reset: () => {
      go({ shown: null });
    },
    onKey: (event) => {
      const next = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (next === undefined) return;
      event.preventDefault();
      go({ shown: next() }, true);
    },
  };
}
