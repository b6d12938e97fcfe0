import { type ReactElement, type ReactNode, useRef } from "react";

import type { ApiError, Target } from "../api/request";
import type { ListedTrace, ReadingProgress } from "../api/schema";
import { CopyButton } from "../components/controls";
import { bytes, counted } from "../text/formats";
import { useProgress, useServices } from "./services";

interface LoadingProps {
  target: Target;
  /** The file that is being read. */
  trace: ListedTrace;
  onStop: () => void;
}

/** A trace is being read: which one, what is being done, how far. */
export function Loading({ target, trace, onStop }: LoadingProps): ReactElement {
  const { api } = useServices();
  const progress = useProgress(api.progress, [target]);
  const done = progress?.done ?? null;
  return (
    <div className="state" role="status">
      <h1>Reading the trace</h1>
      <p className="code file">
        <bdi>{trace.file}</bdi>
      </p>
      <progress aria-label="Progress" max={1} {...(done === null ? {} : { value: done })} />
      <p className="muted progress-text">
        {progressText(progress, trace.bytes)}
        {done === null ? "" : ` · ${Math.round(done * 100)}%`}
      </p>
      <button type="button" onClick={onStop}>
        Stop
      </button>
    </div>
  );
}

const STAGES: Readonly<Record<string, string>> = {
  waiting: "waiting for the reader",
  downloading: "downloading the file",
  decoding: "reading events",
  columns: "building columns",
  attribution: "finding the module of every autograd node",
  done: "adding up",
};

/** What the server is doing with a file of `size` bytes; a stage unknown here is named as it is. */
export function progressText(progress: ReadingProgress | null, size: number): string {
  if (progress === null) return "asking the server";
  const parts = [STAGES[progress.stage] ?? progress.stage];
  if (progress.bytes !== null && progress.bytes < size) {
    parts.push(`${bytes(progress.bytes)} of ${bytes(size)}`);
  }
  if (progress.events !== null && progress.events > 0) {
    parts.push(counted(progress.events, "event"));
  }
  return parts.join(" · ");
}

const TITLES: Readonly<Record<string, string>> = {
  trace: "This file cannot be read as a trace",
  not_found: "There is no such trace",
  usage: "This cannot be shown",
  network: "No answer from the server",
  version: "Page and server versions don't match",
  internal: "The server failed",
  stopped: "The reading was stopped",
  unwanted: "The reading was stopped",
};

interface ErrorCardProps {
  error: ApiError;
  /** The file that was asked for; named where the message does not do it itself. */
  file?: string;
  onRetry: () => void;
  children?: ReactNode;
}

/** Which file, why, and what can be done. */
export function ErrorCard({ error, file, onRetry, children }: ErrorCardProps): ReactElement {
  const named = file === undefined || error.message.includes(file);
  return (
    <div className="state" role="alert">
      <h1>{TITLES[error.kind] ?? TITLES.internal}</h1>
      {!named && (
        <p className="code file">
          <bdi>{file}</bdi>
        </p>
      )}
      <p className="message">
        <bdi>{error.message}</bdi>
      </p>
      {children}
      <button type="button" className="primary" onClick={onRetry}>
        {TITLES[error.kind] === TITLES.stopped ? "Read the trace" : "Try again"}
      </button>
    </div>
  );
}

const SNIPPET = `import tb_hookview as hookview
model = hookview.wrap(model)
with hookview.profile("runs/first") as prof:
    ...  # call prof.step() after each batch`;

/** The three lines that record a run with module names. */
export function RecordSnippet(): ReactElement {
  return <Snippet text={SNIPPET} />;
}

/** Code to copy. */
export function Snippet({ text }: { text: string }): ReactElement {
  const source = useRef<HTMLPreElement>(null);
  return (
    <div className="snippet">
      <pre ref={source}>{text}</pre>
      <CopyButton text={text} source={source} />
    </div>
  );
}
