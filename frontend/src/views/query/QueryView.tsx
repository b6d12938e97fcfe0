import { lazy, Suspense, useMemo, useState, type ReactElement } from "react";

import type { Target } from "../../api/request";
import type { WireReport, WireSqlAnswer, WireSqlTables } from "../../api/types";
import { useLoad, usePlace, useServices, type Loaded } from "../../parts/services";
import { ErrorCard } from "../../parts/states";
import { Answer } from "./Answer";
import { EXAMPLES } from "./examples";
import { Tables } from "./Tables";

// A large part of the page's code, and few open this view.
const Editor = lazy(() => import("./Editor"));

interface QueryViewProps {
  report: WireReport;
  target: Target;
}

/** Questions in SQL on the tables of a trace. */
export function QueryView({ target }: QueryViewProps): ReactElement {
  const { api } = useServices();
  const tables = useLoad(api.sql.tables);
  if (tables.status === "error") return <ErrorCard error={tables.error} onRetry={tables.retry} />;
  return (
    <div className="view">
      <div className="view-main query" aria-busy={tables.status === "loading"}>
        {tables.value !== null && <Content tables={tables.value} target={target} />}
      </div>
    </div>
  );
}

interface ContentProps {
  tables: WireSqlTables;
  target: Target;
}

function Content({ tables, target }: ContentProps): ReactElement {
  if (tables.missing !== null) return <Missing command={tables.missing} />;
  return <Asked tables={tables} target={target} />;
}

function Missing({ command }: { command: string }): ReactElement {
  return (
    <p className="notice">
      Queries need a package that is not installed where this page is served from:{" "}
      <code>{command}</code>, then start the server again.
    </p>
  );
}

function Asked({ tables, target }: ContentProps): ReactElement {
  const [{ sql }, go] = usePlace();
  const [draft, setDraft] = useDraft(sql);
  const answer = useAnswer(target, sql);
  const run = (): void => {
    if (draft.trim() === "") return;
    if (draft === sql) answer.retry();
    else go({ sql: draft });
  };
  return (
    <>
      <section aria-label="Question" className="query-question">
        <Suspense fallback={<textarea aria-label="Query" readOnly value={draft} />}>
          <Editor text={draft} tables={tables.tables} onChange={setDraft} onRun={run} />
        </Suspense>
        <div className="toolbar">
          <button type="button" className="primary" onClick={run}>
            Run
          </button>
          <span className="muted">Ctrl+Enter</span>
          <Examples onChoose={setDraft} />
        </div>
      </section>
      <Answered loaded={answer} asked={sql !== null} />
      <Tables tables={tables.tables} />
    </>
  );
}

/** What is written and not asked yet; what the address asks comes first. */
function useDraft(asked: string | null): [string, (text: string) => void] {
  const [draft, setDraft] = useState({ asked, text: asked ?? EXAMPLES[0].query });
  const text = draft.asked === asked || asked === null ? draft.text : asked;
  return [
    text,
    (next) => {
      setDraft({ asked, text: next });
    },
  ];
}

function useAnswer(target: Target, query: string | null): Loaded<WireSqlAnswer> {
  const { api } = useServices();
  const load = useMemo(
    () => (query === null ? null : (signal: AbortSignal) => api.sql.ask(target, query, signal)),
    [api, target, query],
  );
  return useLoad(load);
}

function Examples({ onChoose }: { onChoose: (query: string) => void }): ReactElement {
  return (
    <label>
      Examples{" "}
      <select
        value=""
        onChange={(event) => {
          onChoose(event.target.value);
        }}
      >
        <option value="" disabled>
          choose one
        </option>
        {EXAMPLES.map(({ title, query }) => (
          <option key={title} value={query}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

interface AnsweredProps {
  loaded: Loaded<WireSqlAnswer>;
  asked: boolean;
}

function Answered({ loaded, asked }: AnsweredProps): ReactElement {
  if (!asked) return <p className="muted">Run the query to see its rows here.</p>;
  if (loaded.status === "error") {
    return (
      <p className="notice" role="alert">
        {loaded.error.message}
      </p>
    );
  }
  return (
    <section aria-label="Answer" aria-busy={loaded.status === "loading"}>
      {loaded.value === null ? (
        <p className="muted" role="status">
          Asking…
        </p>
      ) : (
        <Answer answer={loaded.value} />
      )}
    </section>
  );
}
