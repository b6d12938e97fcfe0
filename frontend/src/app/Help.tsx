import { type ReactElement, useEffect, useEffectEvent, useRef, useState } from "react";

import glossary from "../../../docs/reference/glossary.md?raw";
import type { View } from "../address/place";
import { usePlace } from "../parts/services";
import type { Definition } from "../text/definitions";
import { TIMELINE_KEYS } from "../views/timeline/commands";
import { VIEW_ENTRIES } from "./views";

type Keys = readonly (readonly [keys: string, does: string])[];

const EVERYWHERE: Keys = [
  ["?", "this help"],
  ["Tab", "the next thing that can be used"],
  ["Esc", "close a panel, or give up a selection"],
  ["↑ ↓", "rows of a table"],
  ["← →", "fold and unfold a row; on its edge, the width of a panel"],
];

/** All definitions of a view, by the names under which they are exported. */
type Definitions = Readonly<Record<string, Readonly<Record<string, Definition>>>>;

const OF_VIEWS = import.meta.glob<Definitions>("../views/*/definitions.ts", { eager: true });

function definitionsOf(view: View): Definition[] {
  const groups = Object.values(OF_VIEWS[`../views/${view}/definitions.ts`] ?? {});
  return groups
    .filter((group) => typeof group === "object")
    .flatMap((group) => Object.values(group))
    .filter((one) => typeof one.title === "string" && typeof one.text === "string");
}

/** What each word means, in each of its places; the same text once. */
export function wordsOf(definitions: readonly Definition[]): ReadonlyMap<string, string[]> {
  const words = new Map<string, string[]>();
  for (const { title, text } of definitions) {
    const known = words.get(title) ?? [];
    if (!known.includes(text)) words.set(title, [...known, text]);
  }
  return words;
}

/** The keys, and what the words and numbers of the view mean; `?` shows it too. */
export function Help(): ReactElement {
  const [{ view }] = usePlace();
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDivElement>(null);
  const obey = useEffectEvent((event: KeyboardEvent) => {
    const { target } = event;
    const typed = target instanceof Element && target.closest("input, select, textarea") !== null;
    if (event.key === "?" && !typed) dialog.current?.togglePopover();
  });
  useEffect(() => {
    document.addEventListener("keydown", obey);
    return () => document.removeEventListener("keydown", obey);
  }, []);
  return (
    <>
      <button type="button" className="help-button" popoverTarget="help">
        Help
      </button>
      <div
        id="help"
        ref={dialog}
        popover="auto"
        className="popover help"
        role="dialog"
        aria-label="Help"
        tabIndex={-1}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {open && <KeyList title="Keys" keys={EVERYWHERE} />}
        {open && view === "timeline" && <KeyList title="In the timeline" keys={TIMELINE_KEYS} />}
        {open && <Words title={`Words of the view ${named(view)}`} view={view} />}
        {open && <Glossary />}
      </div>
    </>
  );
}

/** A view by its title and what it is about. */
function named(view: View): string {
  const { title, note } = VIEW_ENTRIES[view];
  return note === undefined ? title(null) : `${title(null)} (${note})`;
}

function KeyList({ title, keys }: { title: string; keys: Keys }): ReactElement {
  return (
    <section>
      <h2>{title}</h2>
      <dl className="help-keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Words({ title, view }: { title: string; view: View }): ReactElement | null {
  const words = wordsOf(definitionsOf(view));
  if (words.size === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <dl>
        {[...words].map(([word, texts]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd className="muted">
              {texts.map((text) => (
                <p key={text}>{text}</p>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

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
function Glossary(): ReactElement {
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
