import { useMemo, type ReactElement } from "react";

import { MOST_TEXT } from "../../api/module";
import type { Target } from "../../api/request";
import { SearchBox } from "../../components/controls";
import { useLoad, useServices } from "../../parts/services";

interface ToolbarProps {
  search: string;
  onSearch: (text: string) => void;
  /** Number of modules found, null without a search. */
  hits: number | null;
  kernels: KernelSearch["state"];
  levels: number;
  onLevels: (levels: number) => void;
}

/** Search, and how far the tree is unfolded. */
export function Toolbar(props: ToolbarProps): ReactElement {
  const { search, onSearch, levels, onLevels } = props;
  return (
    <div className="toolbar">
      <SearchBox
        label="Search module, class or kernel"
        text={search}
        onText={onSearch}
        found={foundText(props)}
      />
      <div className="group" role="group" aria-label="Fold">
        <button
          type="button"
          onClick={() => {
            onLevels(levels);
          }}
        >
          Expand all
        </button>
        <button
          type="button"
          onClick={() => {
            onLevels(1);
          }}
        >
          Collapse all
        </button>
        <LevelSelect levels={levels} onLevels={onLevels} />
      </div>
    </div>
  );
}

function foundText({ hits, kernels }: ToolbarProps): string | null {
  if (hits === null) return null;
  const more = { none: "", searching: ", looking at kernels…", done: "", failed: " by name only" };
  return `${hits} found${more[kernels]}`;
}

function LevelSelect({
  levels,
  onLevels,
}: Pick<ToolbarProps, "levels" | "onLevels">): ReactElement {
  return (
    <select
      aria-label="Show levels"
      value=""
      onChange={(event) => {
        onLevels(Number(event.target.value));
      }}
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
  const found = answer.status === "ready" ? answer.value.paths : null;
  const paths = useMemo(() => (found === null ? NONE : new Set(found)), [found]);
  if (!asks) return { paths: NONE, state: "none" };
  const state = { loading: "searching", ready: "done", error: "failed" } as const;
  return { paths, state: state[answer.status] };
}
