import type { ReactElement } from "react";

interface FilterSelectProps {
  label: string;
  value: string | null;
  options: [value: string, n: number][];
  onChange: (value: string | null) => void;
}

const ANY = "";

export function FilterSelect({ label, value, options, onChange }: FilterSelectProps): ReactElement {
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
            {name} ({n})
          </option>
        ))}
        {value !== null && !options.some(([name]) => name === value) && (
          <option value={value}>{value} (0)</option>
        )}
      </select>
    </label>
  );
}
