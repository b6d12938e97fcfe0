import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef, type ReactElement } from "react";

import type { SqlTables } from "../../api/schema";
import { withoutBackticks } from "../../text/definitions";

export interface EditorProps {
  text: string;
  tables: SqlTables["tables"];
  onChange: (text: string) => void;
  onRun: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--focus)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--forward)" },
  { tag: tags.number, color: "var(--backward)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

const LOOK = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--text)" },
  ".cm-content": { caretColor: "var(--text)", fontFamily: "var(--mono)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line)",
    color: "var(--text)",
  },
});

/** A field for a query: colours, and names of tables and columns while one types. */
export default function Editor({ text, tables, onChange, onRun }: EditorProps): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const calls = useRef({ onChange, onRun });
  const first = useRef(text);
  useEffect(() => {
    calls.current = { onChange, onRun };
  });
  useEffect(() => {
    if (box.current === null) return;
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({ doc: first.current, extensions: extensions(tables, calls) }),
    });
    view.current = made;
    return () => {
      first.current = made.state.doc.toString();
      made.destroy();
    };
  }, [tables]);
  useEffect(() => {
    const shown = view.current?.state.doc.toString();
    if (shown === undefined || shown === text) return;
    view.current?.dispatch({ changes: { from: 0, to: shown.length, insert: text } });
  }, [text]);
  return <div ref={box} className="query-editor" />;
}

interface Calls {
  readonly current: Pick<EditorProps, "onChange" | "onRun">;
}

function extensions(tables: SqlTables["tables"], calls: Calls): Extension {
  const schema = Object.fromEntries(
    tables.map(({ name, columns }) => [
      name,
      columns.map((column) => ({
        label: column.name,
        detail: column.type,
        info: withoutBackticks(column.description),
        apply: column.name.includes(".") ? `"${column.name}"` : column.name,
      })),
    ]),
  );
  const run = keymap.of([
    {
      key: "Mod-Enter",
      run: () => {
        calls.current.onRun();
        return true;
      },
    },
  ]);
  return [
    run,
    keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
    history(),
    closeBrackets(),
    autocompletion(),
    sql({ dialect: PostgreSQL, schema }),
    syntaxHighlighting(COLOURS),
    LOOK,
    EditorView.lineWrapping,
    placeholder("select …"),
    EditorView.contentAttributes.of({ "aria-label": "Query" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) calls.current.onChange(update.state.doc.toString());
    }),
  ];
}
