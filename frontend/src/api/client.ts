import { SCHEMA, type WireProgress, type WireReport, type WireRuns } from "./types";

/** Which trace, and which of its steps (null: all). */
export interface Target {
  run: string;
  worker: string;
  trace: string | null;
  step: string | null;
}

/** An answer that is no answer; `message` is one line for a person. */
export class ApiError extends Error {
  constructor(
    /** "usage", "not_found", "trace", "internal" from the server, "network" or "version" from here. */
    readonly kind: string,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface Api {
  readonly runs: (signal: AbortSignal) => Promise<WireRuns>;
  readonly report: (target: Target, signal: AbortSignal) => Promise<WireReport>;
  readonly progress: (target: Target, signal: AbortSignal) => Promise<WireProgress>;
}

/** The server's interface below `base`, the folder that index.js came from. */
export function createApi(base: URL): Api {
  return {
    runs: (signal) => getJson<WireRuns>(new URL("api/runs", base), signal),
    progress: (target, signal) =>
      getJson<WireProgress>(withTarget(new URL("api/progress", base), target), signal),
    report: async (target, signal) => {
      const url = withTarget(new URL("api/report", base), target);
      const report = await getJson<WireReport>(url, signal);
      if (report.schema !== SCHEMA) throw new ApiError("version", versionMessage(report.schema));
      return report;
    },
  };
}

function withTarget(url: URL, target: Target): URL {
  url.searchParams.set("run", target.run);
  url.searchParams.set("worker", target.worker);
  if (target.trace !== null) url.searchParams.set("trace", target.trace);
  if (target.step !== null) url.searchParams.set("step", target.step);
  return url;
}

async function getJson<T>(url: URL, signal: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, { signal, headers: { accept: "application/json" } });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError("network", "the server does not answer; is it still running?");
  }
  const body = await readBody(response);
  if (!response.ok) throw errorOf(response, body);
  if (body === undefined) throw new ApiError("internal", `${url.pathname}: the answer is not JSON`);
  return body as T;
}

async function readBody(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function errorOf(response: Response, body: unknown): ApiError {
  const error = (body as { error?: { kind?: unknown; message?: unknown } } | null | undefined)
    ?.error;
  const kind = typeof error?.kind === "string" ? error.kind : "internal";
  const message =
    typeof error?.message === "string"
      ? error.message
      : `the server answered ${response.status} ${response.statusText}`;
  return new ApiError(kind, message);
}

function versionMessage(schema: number): string {
  return `the report has version ${schema}, this page reads version ${SCHEMA}; reload the page`;
}
