import { type ReactElement, type RefObject, useState } from "react";

import { clip } from "../text/formats";
import { copyText, selectText } from "./browser";

interface SearchBoxProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  /** How much was found, null where nothing is searched. */
  found: string | null;
}

export function SearchBox({ label, text, onText, found }: SearchBoxProps): ReactElement {
  return (
    <label className="search">
      <input
        type="search"
        placeholder={label}
        aria-label={label}
        value={text}
        spellCheck={false}
        onChange={(event) => onText(event.target.value)}
      />
      <span className="found" role="status">
        {found}
      </span>
    </label>
  );
}

interface Segment<Value extends string> {
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
          onClick={() => onChoose(value)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

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
    <label className="picker filter">
      <span className="picker-label">{label}</span>
      <select
        value={value ?? ANY}
        onChange={(event) => onChange(event.target.value === ANY ? null : event.target.value)}
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
        onChange={(event) => onChange(event.target.value)}
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

interface CopyButtonProps {
  text: string;
  /** Selected where the browser does not let us copy. */
  source: RefObject<HTMLElement | null>;
  /** What the button says before it is pressed. */
  label?: string;
}

export function CopyButton({ text, source, label = "Copy" }: CopyButtonProps): ReactElement {
  const [result, setResult] = useState<"idle" | "copied" | "selected">("idle");
  const copy = async (): Promise<void> => {
    const copied = await copyText(text);
    if (!copied && source.current !== null) selectText(source.current);
    setResult(copied ? "copied" : "selected");
  };
  const said = { idle: label, copied: "Copied", selected: "Selected: press Ctrl+C" }[result];
  return (
    <button
      type="button"
      className="quiet"
      onClick={() => void copy()}
      onBlur={() => setResult("idle")}
    >
      <span aria-live="polite">{said}</span>
    </button>
  );
}
