import { useEffect, useState } from "react";

import type { Target } from "../api/client";
import type { WireProgress } from "../api/types";
import { useServices } from "./context";

const EVERY_MS = 300;

/** How far the server is with reading the target; null until it first says so. */
export function useProgress(target: Target): WireProgress | null {
  const { api } = useServices();
  const [progress, setProgress] = useState<WireProgress | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    const ask = (): void => {
      // Progress is an extra: where it cannot be had, the bar just stays without a measure.
      api.progress(target, controller.signal).then(setProgress, () => undefined);
    };
    ask();
    const timer = window.setInterval(ask, EVERY_MS);
    return () => {
      window.clearInterval(timer);
      controller.abort();
    };
  }, [api, target]);
  return progress;
}
