/** As a step: those that count, over which means are taken. */
export const COUNTED = "counted";

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

/** What an address asks: a list stands once for each of its values, null not at all. */
export type Asked = Readonly<
  Record<string, string | number | null | undefined | readonly (string | number)[]>
>;

/** A trace and its steps in an address: of `target` nothing else. */
export function traceOf({ run, worker, trace, step }: Target): Asked {
  return { run, worker, trace, step };
}

/** An address below `base`, with what it asks in that order. */
export function addressOf(base: URL, path: string, asked: Asked): URL {
  const url = new URL(`api/${path}`, base);
  for (const [key, value] of Object.entries(asked)) {
    for (const one of [value ?? []].flat()) url.searchParams.append(key, String(one));
  }
  return url;
}

export async function getJson<T>(url: URL, signal: AbortSignal): Promise<T> {
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
