import { useEffect, useMemo } from "react";

import type { Target } from "../../api/client";
import type { CallMeasure } from "../../api/module";
import { useServices } from "../../parts/context";
import { Bars } from "./bars";

/** The bars of one trace by one measure; what is under way for another is given up. */
export function useBars(target: Target, measure: CallMeasure): Bars {
  const { api } = useServices();
  const [bars, controller] = useMemo(() => {
    const controller = new AbortController();
    const load = (paths: readonly string[]): ReturnType<typeof api.module.bars> =>
      api.module.bars(target, measure, paths, controller.signal);
    return [new Bars(load), controller] as const;
  }, [api, target, measure]);
  useEffect(
    () => () => {
      controller.abort();
    },
    [controller],
  );
  return bars;
}
