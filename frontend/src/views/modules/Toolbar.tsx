import type { ReactElement } from "react";

import { SearchBox } from "../../components/SearchBox";
import type { KernelSearch } from "./useKernelSearch";

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
