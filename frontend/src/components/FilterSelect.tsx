import type { ReactElement } from "react";

import { clip } from "../text/formats";

const MOST_SHOWN = 120;

interface FilterSelectProps {
  label: string;
  value: string | null;
  options: [value: string, n: number][];
  /** How a value is written; as it is without. */
  text?: (value: string) => string;
  onChange: (value: string | null) => void;
}

// No value of a trace: those have no control characters.
const ANY = "\u0000";

export function FilterSelect(props: FilterSelectProps): ReactElement {
  const { label, value, options, text = same, onChange } = props;
  return (
    <label className="picker">
      <span className="picker-label">{label}</span>
      <select
        value={value ?? ANY}
        onChange={(event) => {
          onChange(event.target.value === ANY ? null : event.target.value);
        }}
      >
        <option value={ANY}>any</option>
        {options.map(([name, n]) => (
          <option key={name} value={name}>
            {clip(text(name), MOST_SHOWN)} ({n})
          </option>
        ))}
        {value !== null && !options.some(([name]) => name === value) && (
          <option value={value}>{clip(text(value), MOST_SHOWN)} (0)</option>
        )}
      </select>
    </label>
  );
}

const same = (value: string): string => value;
