import type { ReactElement } from "react";

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
        onChange={(event) => {
          onText(event.target.value);
        }}
      />
      <span className="found" role="status">
        {found}
      </span>
    </label>
  );
}
