import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type CallBars, MOST_PATHS } from "../../api/client";
import { Bars } from "./Spark";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("rows that come into sight together are asked for together, and once", async () => {
  const load = vi.fn((paths: readonly string[]) =>
    Promise.resolve<CallBars>(Object.fromEntries(paths.map((path) => [path, [1, 2]]))),
  );
  const bars = new Bars(load);
  const heard = vi.fn();
  bars.subscribe(heard);
  bars.want("a");
  bars.want("b");
  bars.want("a");
  expect(bars.get("a")).toBeNull();
  await vi.runAllTimersAsync();
  bars.want("a");
  await vi.runAllTimersAsync();
  expect(load.mock.calls).toEqual([[["a", "b"]]]);
  expect(bars.get("b")).toEqual([1, 2]);
  expect(heard).toHaveBeenCalledOnce();
});

test("no more are asked for at a time than the server takes", async () => {
  const load = vi.fn(() => Promise.resolve<CallBars>({}));
  const bars = new Bars(load);
  for (let at = 0; at <= MOST_PATHS; at++) bars.want(String(at));
  await vi.runAllTimersAsync();
  expect(load).toHaveBeenCalledTimes(2);
});

test("an answer that does not come leaves the rest as it is", async () => {
  const bars = new Bars(() => Promise.reject(new Error("gone")));
  bars.want("a");
  await vi.runAllTimersAsync();
  expect(bars.get("a")).toBeNull();
});
