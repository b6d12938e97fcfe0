import { useState, type ReactElement, type RefObject } from "react";

import { copyText, selectText } from "./browser";

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
