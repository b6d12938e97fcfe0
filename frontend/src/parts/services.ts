import {
  createContext,
  use,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";

import type { Place } from "../address/place";
import type { PlaceStore } from "../address/placeStore";
import type { Api } from "../api/client";
import { ApiError } from "../api/request";
import type { ReadingProgress, RuleInfo } from "../api/schema";

export interface Services {
  api: Api;
  places: PlaceStore;
}

export const ServicesContext = createContext<Services | null>(null);

export function useServices(): Services {
  const services = use(ServicesContext);
  if (services === null) throw new Error("rendered outside of ServicesContext");
  return services;
}

/** Where we are, and how to go elsewhere. */
export function usePlace(): [Place, PlaceStore["go"]] {
  const { places } = useServices();
  return [useSyncExternalStore(places.subscribe, places.get), places.go];
}

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
      (value) => settle(value, null),
      (error: unknown) => settle(null, asApiError(error)),
    );
    giveUp.current = () => {
      settle(null, new ApiError("stopped", "You stopped it before it was done."));
      controller.abort();
    };
    return () => controller.abort();
  }, [load, attempt]);
  const retry = useCallback(() => setAttempt((n) => n + 1), []);
  const stop = useCallback(() => giveUp.current(), []);
  const current = answer?.load === load && answer.attempt === attempt ? answer : null;
  if (current === null) return { status: "loading", value: answer?.value ?? null, retry, stop };
  if (current.error !== null) {
    return { status: "error", error: current.error, value: null, retry, stop };
  }
  return { status: "ready", value: current.value as T, retry, stop };
}

/**
 * Ask the server: once for arguments that say the same, and again where `of` is another object;
 * null asks nothing.
 */
export function useAsk<Asked extends readonly unknown[], T>(
  ask: (...asked: [...Asked, AbortSignal]) => Promise<T>,
  asked: Asked | null,
  of?: unknown,
): Loaded<T> {
  const key = asked === null ? null : JSON.stringify(asked);
  const load = useMemo((): Load<T> | null => {
    if (key === null) return null;
    const said = JSON.parse(key) as Asked;
    return (signal) => ask(...said, signal);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- an answer is of it
  }, [ask, key, of]);
  return useLoad(load);
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("internal", error instanceof Error ? error.message : String(error));
}

const EVERY_MS = 300;

/** How far the server is, asked again and again (memoize `ask`!); null until it first says so. */
export function useProgress<Asked extends readonly unknown[]>(
  ask: (...asked: [...Asked, AbortSignal]) => Promise<ReadingProgress>,
  asked: Asked,
): ReadingProgress | null {
  const key = JSON.stringify(asked);
  const [progress, setProgress] = useState<ReadingProgress | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    const said = JSON.parse(key) as Asked;
    const again = (): void => {
      // Progress is an extra: where it cannot be had, the bar just stays without a measure.
      ask(...said, controller.signal).then(setProgress, () => undefined);
    };
    again();
    const timer = window.setInterval(again, EVERY_MS);
    return () => {
      window.clearInterval(timer);
      controller.abort();
    };
  }, [ask, key]);
  return progress;
}

/** The rules that traces are held against; null until they are there, or where they cannot be had. */
export function useRules(): readonly RuleInfo[] | null {
  const { api } = useServices();
  const rules = useLoad(api.rules);
  return rules.status === "ready" ? rules.value : null;
}
