import type { ReactElement } from "react";

import { SearchBox } from "../SearchBox";

interface ToolbarProps {
  search: string;
  onSearch: (text: string) => void;
  /** Number of modules found, null without a search. */
  hits: number | null;
  levels: number;
  onLevels: (levels: number) => void;
}

/** Search, and how far the tree is unfolded. */
export function Toolbar({ search, onSearch, hits, levels, onLevels }: ToolbarProps): ReactElement {
  return (
    <div className="toolbar">
      <SearchBox
        label="Search module or class"
        text={search}
        onText={onSearch}
        found={hits === null ? null : `${hits} found`}
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
