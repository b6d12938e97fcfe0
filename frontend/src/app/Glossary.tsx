import type { ReactElement } from "react";

import glossary from "../../../docs/reference/glossary.md?raw";

interface Entry {
  readonly term: string;
  readonly meaning: string;
}

/** Rows of the glossary's tables, without its third column and its markup. */
export function entriesOf(markdown: string): Entry[] {
  const rows = markdown.split("\n").filter((line) => line.startsWith("| "));
  return rows
    .map((line) => line.split(/(?<!\\)\|/).map(plain))
    .map(([, term = "", meaning = ""]) => ({ term, meaning }))
    .filter(({ term }) => term !== "term" && !term.startsWith("---"));
}

function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*]/g, "")
    .replace(/\\\|/g, "|")
    .trim();
}

/** Every term of the page, the terminal and the docs, folded; it is part of the page. */
export function Glossary(): ReactElement {
  return (
    <details className="glossary">
      <summary>All terms (glossary)</summary>
      <dl>
        {entriesOf(glossary).map(({ term, meaning }) => (
          <div key={`${term} ${meaning}`}>
            <dt>{term}</dt>
            <dd className="muted">{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
