import { lazy, type ReactElement, Suspense, useState } from "react";

import type { SqlScope } from "../../api/client";
import type { Target } from "../../api/request";
import type { Runs, SqlAnswer, SqlTables } from "../../api/schema";
import { Segments } from "../../components/controls";
import { type Loaded, useAsk, usePlace, useServices } from "../../parts/services";
import { ErrorCard } from "../../parts/states";
import { withoutBackticks } from "../../text/definitions";
import { counted } from "../../text/formats";
import { Answer } from "./Answer";
import { EXAMPLES } from "./examples";

// A large part of the page's code, and few open this view.
const Editor = lazy(() => import("./Editor"));

interface QueryViewProps {
  target: Target;
  listed: Runs;
}

/** Questions in SQL on the tables of a trace, or of all traces of its run. */
export function QueryView({ target, listed }: QueryViewProps): ReactElement {
  const { api } = useServices();
  const scope = useScope();
  const tables = useAsk(api.sql.tables, [scope]);
  const workers = listed.runs.find(({ name }) => name === target.run)?.workers.length ?? 0;
  if (tables.status === "error") return <ErrorCard error={tables.error} onRetry={tables.retry} />;
  return (
    <div className="view">
      <div className="view-main query" aria-busy={tables.status === "loading"}>
        {tables.value !== null && (
          <Content tables={tables.value} target={target} workers={workers} />
        )}
      </div>
    </div>
  );
}

function useScope(): SqlScope {
  const [{ scope }] = usePlace();
  return scope === "run" ? "run" : "trace";
}

interface ContentProps {
  tables: SqlTables;
  target: Target;
  /** Of the run. */
  workers: number;
}

function Content(props: ContentProps): ReactElement {
  if (props.tables.missing !== null) return <Missing command={props.tables.missing} />;
  return <Asked {...props} />;
}

/** Of what a query is asked; nothing where a run has one trace. */
function ScopePicker({ workers }: Pick<ContentProps, "workers">): ReactElement | null {
  const [, go] = usePlace();
  const scope = useScope();
  if (workers < 2 && scope === "trace") return null;
  return (
    <Segments
      label="Ask"
      segments={[
        { value: "trace", title: "This trace" },
        {
          value: "run",
          title: `Whole run (${counted(workers, "rank")})`,
          tooltip: "All steps of the newest trace of each rank; each row names its worker",
        },
      ]}
      chosen={scope}
      onChoose={(chosen) => go({ scope: chosen === "run" ? chosen : null })}
    />
  );
}

function Missing({ command }: { command: string }): ReactElement {
  return (
    <p className="notice">
      Queries need a package that is not installed where this page is served from:{" "}
      <code>{command}</code>, then start the server again.
    </p>
  );
}

function Asked({ tables, target, workers }: ContentProps): ReactElement {
  const [{ sql }, go] = usePlace();
  const scope = useScope();
  const [draft, setDraft] = useDraft(sql, EXAMPLES[scope][0].query);
  const answer = useAnswer(scope, target, sql);
  const run = (): void => {
    if (draft.trim() === "") return;
    if (draft === sql) answer.retry();
    else go({ sql: draft });
  };
  return (
    <>
      <section aria-label="Question" className="query-question">
        <ScopePicker workers={workers} />
        <Suspense fallback={<textarea aria-label="Query" aria-busy readOnly value={draft} />}>
          <Editor text={draft} tables={tables.tables} onChange={setDraft} onRun={run} />
        </Suspense>
        <div className="toolbar">
          <button type="button" className="primary" onClick={run}>
            Run
          </button>
          <span className="muted">
            {sql === null || draft === sql ? "Ctrl+Enter" : "Changed since it ran: Ctrl+Enter"}
          </span>
          <Examples
            scope={scope}
            onChoose={(query) => {
              if (query === sql) setDraft(query);
              else go({ sql: query });
            }}
          />
        </div>
      </section>
      <Tables tables={tables.tables} />
      <Answered loaded={answer} asked={sql !== null} />
    </>
  );
}

/** What is written and not asked yet; what the address asks comes first. */
function useDraft(asked: string | null, first: string): [string, (text: string) => void] {
  const [draft, setDraft] = useState({ asked, text: asked });
  const text = (draft.asked === asked || asked === null ? draft.text : asked) ?? first;
  return [text, (next) => setDraft({ asked, text: next })];
}

function useAnswer(scope: SqlScope, target: Target, query: string | null): Loaded<SqlAnswer> {
  const { api } = useServices();
  return useAsk(api.sql.ask, query === null ? null : [scope, target, query]);
}

interface ExamplesProps {
  scope: SqlScope;
  onChoose: (query: string) => void;
}

function Examples({ scope, onChoose }: ExamplesProps): ReactElement {
  return (
    <label>
      Examples{" "}
      <select value="" onChange={(event) => onChoose(event.target.value)}>
        <option value="" disabled>
          choose one
        </option>
        {EXAMPLES[scope].map(({ title, query }) => (
          <option key={title} value={query}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

interface AnsweredProps {
  loaded: Loaded<SqlAnswer>;
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
      {loaded.status === "loading" ? (
        <p className="muted" role="status">
          Asking…
        </p>
      ) : (
        <Answer answer={loaded.value} />
      )}
    </section>
  );
}

/** What there is to ask: tables, and the columns of each. */
function Tables({ tables }: Pick<SqlTables, "tables">): ReactElement {
  return (
    <section aria-label="Tables" className="query-tables">
      <h2>Tables</h2>
      {tables.map(({ name, description, columns }) => (
        <details key={name}>
          <summary>
            <code>{name}</code> <span className="muted">{withoutBackticks(description)}</span>
          </summary>
          <dl>
            {columns.map((column) => (
              <div key={column.name}>
                <dt>
                  <code>{column.name}</code>{" "}
                  <span className="muted">
                    {column.type}
                    {column.unit === null ? "" : `, ${column.unit}`}
                  </span>
                </dt>
                <dd>{withoutBackticks(column.description)}</dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </section>
  );
}
