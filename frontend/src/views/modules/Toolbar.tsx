import { type ReactElement, useMemo } from "react";

import { MOST_TEXT } from "../../api/client";
import type { Target } from "../../api/request";
import { PlaceSearch } from "../../parts/placeControls";
import { useLoad, useServices } from "../../parts/services";
import { count } from "../../text/formats";

interface ToolbarProps {
  /** Number of modules found, null without a search. */
  hits: number | null;
  kernels: Pick<KernelSearch, "state" | "omitted">;
  levels: number;
  onLevels: (levels: number) => void;
}

/** Search, and how far the tree is unfolded. */
export function Toolbar(props: ToolbarProps): ReactElement {
  const { levels, onLevels } = props;
  return (
    <div className="toolbar">
      <PlaceSearch label="Search module, class or kernel" found={foundText(props)} />
      <div className="group" role="group" aria-label="Fold">
        <button type="button" onClick={() => onLevels(levels)}>
          Expand all
        </button>
        <button type="button" onClick={() => onLevels(1)}>
          Collapse all
        </button>
        <LevelSelect levels={levels} onLevels={onLevels} />
      </div>
    </div>
  );
}

/** How many modules were found, and how many more the answer about kernels leaves out. */
export function foundText({
  hits,
  kernels,
}: Pick<ToolbarProps, "hits" | "kernels">): string | null {
  if (hits === null) return null;
  const { state, omitted } = kernels;
  const notes = { none: "", searching: ", looking at kernels…", done: "", failed: " by name only" };
  const more = omitted > 0 ? `, ${count(omitted)} more not shown` : "";
  return `${count(hits)} found${notes[state]}${more}`;
}

function LevelSelect({
  levels,
  onLevels,
}: Pick<ToolbarProps, "levels" | "onLevels">): ReactElement {
  return (
    <select
      aria-label="Show levels"
      value=""
      onChange={(event) => onLevels(Number(event.target.value))}
    >
      <option value="" disabled hidden>
        To level…
      </option>
      {Array.from({ length: levels }, (_, index) => (
        <option key={index} value={index + 1}>
          to level {index + 1}
        </option>
      ))}
    </select>
  );
}

/** The typing is waited for this long, so that not every letter is a question. */
const WAIT_MS = 150;

/** Modules that launched kernels whose names hold the text. */
export interface KernelSearch {
  paths: ReadonlySet<string>;
  /** Modules found that `paths` leaves out. */
  omitted: number;
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
  const found = answer.status === "ready" ? answer.value : null;
  const paths = useMemo(() => (found === null ? NONE : new Set(found.paths)), [found]);
  if (!asks) return { paths: NONE, omitted: 0, state: "none" };
  const state = { loading: "searching", ready: "done", error: "failed" } as const;
  return { paths, omitted: found?.omitted ?? 0, state: state[answer.status] };
}
