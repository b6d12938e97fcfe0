import type { ReactElement, ReactNode } from "react";

import type { ApiError } from "../api/client";

const TITLES: Readonly<Record<string, string>> = {
  trace: "This file cannot be read as a trace",
  not_found: "There is no such trace",
  usage: "This cannot be shown",
  network: "No answer from the server",
  version: "Page and server do not fit together",
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
