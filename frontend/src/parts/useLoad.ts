import { useCallback, useEffect, useRef, useState } from "react";

import { ApiError } from "../api/client";

/** What became of a request; `stop` gives it up. While it is awaited, `value` is the one before. */
export type Loaded<T> = Actions &
  (
    | { status: "loading"; value: T | null }
    | { status: "ready"; value: T }
    | { status: "error"; error: ApiError; value: null }
  );

interface Actions {
  retry: () => void;
  stop: () => void;
}

type Load<T> = (signal: AbortSignal) => Promise<T>;

interface Answer<T> {
  load: Load<T>;
  attempt: number;
  value: T | null;
  error: ApiError | null;
}

/**
 * Run `load` and again whenever it is another function (memoize it!); null loads nothing. An
 * answer that comes after the user has moved on is dropped, and its request given up.
 */
export function useLoad<T>(load: Load<T> | null): Loaded<T> {
  const [attempt, setAttempt] = useState(0);
  const [answer, setAnswer] = useState<Answer<T> | null>(null);
  const giveUp = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (load === null) return;
    const controller = new AbortController();
    const settle = (value: T | null, error: ApiError | null): void => {
      if (controller.signal.aborted) return;
      setAnswer({ load, attempt, value, error });
    };
    load(controller.signal).then(
      (value) => {
        settle(value, null);
      },
      (error: unknown) => {
        settle(null, asApiError(error));
      },
    );
    giveUp.current = () => {
      settle(null, new ApiError("stopped", "You stopped it before it was done."));
      controller.abort();
    };
    return () => {
      controller.abort();
    };
  }, [load, attempt]);
  const retry = useCallback(() => {
    setAttempt((n) => n + 1);
  }, []);
  const stop = useCallback(() => {
    giveUp.current();
  }, []);
  const current = answer?.load === load && answer.attempt === attempt ? answer : null;
  if (current === null) return { status: "loading", value: answer?.value ?? null, retry, stop };
  if (current.error !== null) {
    return { status: "error", error: current.error, value: null, retry, stop };
  }
  return { status: "ready", value: current.value as T, retry, stop };
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("internal", error instanceof Error ? error.message : String(error));
}
