import type { ReactElement } from "react";

import { clip } from "../text/formats";

interface PickerProps {
  label: string;
  value: string;
  options: readonly { value: string; text: string }[];
  onChange: (value: string) => void;
  /** Never shortened, however little room there is. */
  whole?: boolean;
}

/** A labelled choice of one in the top bar. */
export function Picker({
  label,
  value,
  options,
  onChange,
  whole = false,
}: PickerProps): ReactElement {
  return (
    <label className={whole ? "picker whole" : "picker"}>
      <span className="picker-label">{label}</span>
      <select
        value={value}
        title={clip(options.find((option) => option.value === value)?.text ?? value, 500)}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {clip(option.text, 120)}
          </option>
        ))}
      </select>
    </label>
  );
}
