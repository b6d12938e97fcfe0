import { useCallback, useEffect, useState } from "react";

import { ApiError } from "../../api/client";

export type Loaded<T> =
  | { status: "loading"; value: T | null; retry: () => void }
  | { status: "ready"; value: T; retry: () => void }
  | { status: "error"; error: ApiError; retry: () => void };

type Load<T> = (signal: AbortSignal) => Promise<T>;

interface Answer<T> {
  load: Load<T>;
  attempt: number;
  value: T | null;
  error: ApiError | null;
}

/**
 * Run `load` and again whenever it is another function (memoize it!); null loads nothing. An
 * answer that comes after the user has moved on is dropped. While a later answer is awaited,
 * `value` is the one before.
 */
export function useLoad<T>(load: Load<T> | null): Loaded<T> {
  const [attempt, setAttempt] = useState(0);
  const [answer, setAnswer] = useState<Answer<T> | null>(null);
  useEffect(() => {
    if (load === null) return;
    const controller = new AbortController();
    const settle = (value: T | null, error: ApiError | null): void => {
      if (!controller.signal.aborted) setAnswer({ load, attempt, value, error });
    };
    load(controller.signal).then(
      (value) => {
        settle(value, null);
      },
      (error: unknown) => {
        settle(null, asApiError(error));
      },
    );
    return () => {
      controller.abort();
    };
  }, [load, attempt]);
  const retry = useCallback(() => {
    setAttempt((n) => n + 1);
  }, []);
  const current = answer?.load === load && answer.attempt === attempt ? answer : null;
  if (current === null) return { status: "loading", value: answer?.value ?? null, retry };
  if (current.error !== null) return { status: "error", error: current.error, retry };
  return { status: "ready", value: current.value as T, retry };
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("internal", error instanceof Error ? error.message : String(error));
}
