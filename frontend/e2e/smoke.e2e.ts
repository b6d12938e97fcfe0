import type { Locator } from "playwright-core";
import { describe } from "vitest";

import { VIEWS, type View } from "../src/address/place";
import { drawn } from "./canvas";
import { page, settled, test, url, visitingOnce } from "./scene";

/** Of each view, a place where it has something to show, and its main figure. */
const MAIN: Readonly<Record<View, [query: string, figure: string]>> = {
  summary: ["run=device", ".path-segment"],
  modules: ["run=device", ".icicle .block"],
  syncs: ["run=device", ".strip-bin"],
  operators: ["run=device", ".table[aria-label=Operators] [role=gridcell]"],
  kernels: ["run=device", ".table[aria-label=Kernels] [role=gridcell]"],
  timeline: ["run=device", "canvas.chart-canvas"],
  memory: ["run=memory", ".memory-chart"],
  ranks: ["run=late", ".rank-heat canvas"],
  history: ["run=watched", ".history-median"],
  findings: ["run=device", ".finding.open .sync-timeline-block"],
  whatif: ["run=device", ".whatif-bar"],
  query: ["run=device&sql=select+name,+calls+from+operators", ".query-bars"],
  compare: ["run=one+sync&base=device", ".table-body .change-bar"],
};

describe("a walk through the views", () => {
  visitingOnce("#/", () => figure(".band").waitFor(), { reducedMotion: "no-preference" });

  const figure = (selector: string): Locator => page.locator(selector).first();

  test.each(VIEWS)("%s draws its main figure", async (view) => {
    const [query, main] = MAIN[view];
    await page.goto(`${url}#/${view}?${query}`);
    await (main.includes("canvas") ? drawn(figure(main), 2) : figure(main).waitFor());
    await settled();
  });
});
