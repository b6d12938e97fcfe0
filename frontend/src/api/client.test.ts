import { afterEach, expect, test, vi } from "vitest";

import { report } from "../testing/report";
import { createApi } from "./client";
import type { Target } from "./request";

const BASE = new URL("http://127.0.0.1/");
const TARGET: Target = { run: "r", worker: "w", trace: null, step: "counted" };
const { signal } = new AbortController();

afterEach(() => {
  vi.unstubAllGlobals();
});

/** The server with a table of that many rows, which answers with few at a time. */
function serve(rows: number, atOnce: number): URL[] {
  const asked: URL[] = [];
  const all = Array.from({ length: rows }, (_, id) => ({ id }));
  vi.stubGlobal("fetch", (url: URL) => {
    asked.push(url);
    const offset = Number(url.searchParams.get("offset") ?? 0);
    const some = all.slice(offset, offset + atOnce);
    const cut = rows > atOnce ? { cut: { nodes: rows - atOnce } } : {};
    const body = url.pathname.endsWith("rows")
      ? { table: "nodes", offset, total: rows, rows: some }
      : { ...report(), nodes: some, ...cut };
    return Promise.resolve(Response.json(body));
  });
  return asked;
}

test("a report with all of its rows is one request", async () => {
  const asked = serve(3, 10);
  const found = await createApi(BASE).report(TARGET, signal);
  expect(found.nodes).toEqual([{ id: 0 }, { id: 1 }, { id: 2 }]);
  expect(asked).toHaveLength(1);
});

test("rows that are left out follow, of the same steps, until all are there", async () => {
  const asked = serve(25, 10);
  const found = await createApi(BASE).report(TARGET, signal);
  expect(found.nodes.map(({ id }) => id)).toEqual(Array.from({ length: 25 }, (_, id) => id));
  expect(found).not.toHaveProperty("cut");
  expect(asked.slice(1).map((url) => `${url.pathname}${url.search}`)).toEqual([
    "/api/report/rows?run=r&worker=w&step=counted&table=nodes&offset=10",
    "/api/report/rows?run=r&worker=w&step=counted&table=nodes&offset=20",
  ]);
});
