import { useState, type ReactElement } from "react";

import { count as numbered, counted } from "../../text/formats";
import { copyText } from "../browser";
import { tableCsv, tableMarkdown, type TextColumn } from "./tableText";

export interface TableContent {
  columns: TextColumn[];
  rows: unknown[][];
}

interface TableBarProps {
  /** Rows of the table at hand, and of all of its pages. */
  count: number;
  total: number;
  /** Titles of columns that there is no room for. */
  hidden: string[];
  /** What is shown, as values; asked for when somebody copies it. */
  content: () => TableContent;
}

const FORMATS = [
  { name: "CSV", write: tableCsv },
  { name: "Markdown", write: tableMarkdown },
] as const;

/** Below a table: how many rows it has, and buttons that copy them. */
export function TableBar({ count, total, hidden, content }: TableBarProps): ReactElement {
  const [said, setSaid] = useState("");
  const copy = async ({ name, write }: (typeof FORMATS)[number]): Promise<void> => {
    const { columns, rows } = content();
    const copied = await copyText(write(columns, rows));
    setSaid(copied ? `Copied as ${name}` : "The browser forbids copying from this address");
  };
  return (
    <div className="table-bar">
      <span className="muted" title={hidden.join(", ")}>
        {total > count && `${numbered(count)} of `}
        {counted(total, "row")}
        {hidden.length > 0 && ` · no room for: ${hidden.join(", ")} (copied all the same)`}
      </span>
      <span className="spring" />
      <span className="muted" role="status">
        {said}
      </span>
      {FORMATS.map((format) => (
        <button
          key={format.name}
          type="button"
          className="quiet"
          disabled={count === 0}
          onClick={() => void copy(format)}
          onBlur={() => setSaid("")}
        >
          Copy {format.name}
        </button>
      ))}
    </div>
  );
}
