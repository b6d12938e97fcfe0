import { useCallback, useEffect, useRef, useState } from "react";

import type { Target } from "../../api/request";
import type { ReportData, WhatIf } from "../../api/schema";
import { type Loaded, useAsk, useServices } from "../../parts/services";
import { parseFactor, type WhatIfPlace } from "./address";
import { asked } from "./question";

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
export type ChangeQuestion = (
  change: (place: WhatIfPlace) => WhatIfPlace,
  quietly?: boolean,
) => void;

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
