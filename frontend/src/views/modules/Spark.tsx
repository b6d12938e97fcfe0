import { type ReactElement, useCallback, useEffect, useMemo, useSyncExternalStore } from "react";

import { type CallBars, type CallMeasure, MOST_PATHS } from "../../api/client";
import type { Target } from "../../api/request";
import { useServices } from "../../parts/services";
import { counted, duration } from "../../text/formats";
import type { ModuleNode } from "./moduleTree";

const WIDTH = 60;
const HEIGHT = 16;
const MOST_BAR = 8;
/** Share of its place that a bar fills. */
const GAPLESS = 0.8;

/** What each call of a module cost, from the first to the last. */
export function Spark({ bars, node }: { bars: Bars; node: ModuleNode }): ReactElement | null {
  const path = node.module === null ? null : node.path;
  const get = useCallback(() => (path === null ? null : bars.get(path)), [bars, path]);
  const values = useSyncExternalStore(bars.subscribe, get);
  useEffect(() => {
    if (path !== null) bars.want(path);
  }, [bars, path]);
  if (values === null) return null;
  const most = Math.max(0, ...values);
  if (most <= 0) return <>—</>;
  const step = Math.min(MOST_BAR, WIDTH / values.length);
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      height={HEIGHT}
      role="img"
    >
      <title>
        {`${counted(values.length, "call")} or bins of them, ${duration(Math.min(...values))} to ${duration(most)}`}
      </title>
      {values.map((value, index) => (
        <rect
          key={index}
          x={index * step}
          y={HEIGHT - (value / most) * HEIGHT}
          width={step * GAPLESS}
          height={(value / most) * HEIGHT}
        />
      ))}
    </svg>
  );
}

/** Rows come into sight one by one; this long they are waited for, to be asked for together. */
const WAIT_MS = 40;

type Load = (paths: readonly string[]) => Promise<CallBars>;

/** What calls cost over time, of the modules whose rows have come into sight. */
export class Bars {
  private readonly known = new Map<string, readonly number[]>();
  private readonly asked = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private waiting: string[] = [];

  constructor(private readonly load: Load) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  /** null until the answer is there. */
  get(path: string): readonly number[] | null {
    return this.known.get(path) ?? null;
  }

  want(path: string): void {
    if (this.asked.has(path)) return;
    this.asked.add(path);
    if (this.waiting.length === 0) {
      setTimeout(() => this.ask(), WAIT_MS);
    }
    this.waiting.push(path);
  }

  private ask(): void {
    const wanted = this.waiting;
    this.waiting = [];
    for (let at = 0; at < wanted.length; at += MOST_PATHS) {
      // The bars are an extra: where they cannot be had, the table is whole without.
      this.load(wanted.slice(at, at + MOST_PATHS)).then(
        (answer) => {
          for (const [path, bars] of Object.entries(answer)) this.known.set(path, bars);
          for (const listener of this.listeners) listener();
        },
        () => undefined,
      );
    }
  }
}

/** The bars of one trace by one measure; what is under way for another is given up. */
export function useBars(target: Target, measure: CallMeasure): Bars {
  const { api } = useServices();
  const [bars, controller] = useMemo(() => {
    const controller = new AbortController();
    const load = (paths: readonly string[]): ReturnType<typeof api.module.bars> =>
      api.module.bars(target, measure, paths, controller.signal);
    return [new Bars(load), controller] as const;
  }, [api, target, measure]);
  useEffect(() => () => controller.abort(), [controller]);
  return bars;
}
