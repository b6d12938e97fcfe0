import type { ReactElement } from "react";

export interface Segment<Value extends string> {
  value: Value;
  title: string;
  tooltip?: string;
  disabled?: boolean;
}

interface SegmentsProps<Value extends string> {
  label: string;
  segments: readonly Segment<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
  /** Filled with the colour of what is shown. */
  toned?: boolean;
}

/** One of a few, all of them in sight. */
export function Segments<Value extends string>(props: SegmentsProps<Value>): ReactElement {
  const { label, segments, chosen, onChoose, toned = false } = props;
  return (
    <div className={`segments ${toned ? "toned" : ""}`} role="group" aria-label={label}>
      {segments.map(({ value, title, tooltip, disabled }) => (
        <button
          key={value}
          type="button"
          title={tooltip}
          aria-pressed={value === chosen}
          disabled={disabled}
          onClick={() => {
            onChoose(value);
          }}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
