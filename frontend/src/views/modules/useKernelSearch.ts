import { useMemo } from "react";

import type { Target } from "../../api/client";
import { MOST_TEXT } from "../../api/module";
import { useServices } from "../../parts/context";
import { useLoad } from "../../parts/useLoad";

/** The typing is waited for this long, so that not every letter is a question. */
const WAIT_MS = 150;

/** Modules that launched kernels whose names hold the text. */
export interface KernelSearch {
  paths: ReadonlySet<string>;
  state: "none" | "searching" | "done" | "failed";
}

const NONE: ReadonlySet<string> = new Set();

/** Ask which modules launched kernels of such a name; nothing is asked where no text is given. */
export function useKernelSearch(target: Target, text: string): KernelSearch {
  const { api } = useServices();
  const wanted = text.trim();
  const asks = wanted !== "" && wanted.length <= MOST_TEXT;
  const load = useMemo(
    () =>
      asks
        ? async (signal: AbortSignal) => {
            await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
            signal.throwIfAborted();
            return api.module.search(target, wanted, signal);
          }
        : null,
    [api, target, wanted, asks],
  );
  const answer = useLoad(load);
  const told = answer.status === "ready" ? answer.value.paths : null;
  const paths = useMemo(() => (told === null ? NONE : new Set(told)), [told]);
  if (!asks) return { paths: NONE, state: "none" };
  const state = { loading: "searching", ready: "done", error: "failed" } as const;
  return { paths, state: state[answer.status] };
}
