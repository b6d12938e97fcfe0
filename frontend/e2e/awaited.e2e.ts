import { expect } from "vitest";

import { VIEWS } from "../src/address/place";
import { page, settled, test, url, visit } from "./scene";

const ROW = ".table-body [role=row]";
/** What a view shows most of; `run=device` where this names nothing. */
const FILLED: Readonly<Record<string, string>> = {
  memory: "run=memory",
  ranks: "run=late",
  history: "run=watched",
  whatif: "run=device&scale=host%3D0.5",
  query: "run=device&sql=select+name+from+events",
  compare: "run=device&base=one+sync",
};
/** Where one is, and the address or the element that one goes to or presses. */
const SCENES: [name: string, from: string, press: string][] = [
  ...VIEWS.map((view): [string, string, string] => [
    view,
    "#/summary?run=tiny",
    `#/${view}?${FILLED[view] ?? "run=device"}`,
  ]),
  ["a module's panel", "#/modules?run=device", ROW],
  ["a kernel's panel", "#/kernels?run=device", ROW],
  ["an operator's panel", "#/operators?run=device", ROW],
  ["operators by call stack", "#/operators?run=device", "#/operators?run=device&operators=stack"],
  ["a roofline", "#/kernels?run=device", "#/kernels?run=device&roofline=operator"],
  ["blocks of memory", "#/memory?run=memory", "#/memory?run=memory&list=blocks"],
  ["an event of the timeline", "#/timeline?run=tiny", "#/timeline?run=tiny&event=1777"],
  ["a range of the timeline", "#/timeline?run=tiny", "#/timeline?run=tiny&range=240..370"],
  ["a search of the timeline", "#/timeline?run=tiny", "#/timeline?run=tiny&q=aten"],
  ["a factor", "#/whatif?run=device", "#/whatif?run=device&scale=host%3D0.5"],
  ["a step", "#/summary?run=tiny", "#/summary?run=tiny&step=ProfilerStep%233"],
  ["a collective", "#/ranks?run=late", "#/ranks?run=late&collective=1&together=1"],
];

/** Whether there is a line below the bar that can be seen. */
const isShown = (): Promise<boolean> =>
  page.locator(".topbar").evaluate((bar) => {
    const { content, opacity } = getComputedStyle(bar, "::after");
    return content !== "none" && opacity === "1";
  });

test.each(SCENES)("%s: a line shows that an answer is awaited", async (_, from, press) => {
  await visit(from);
  await settled();
  expect(await isShown()).toBe(false);
  let held = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/**", async (route) => {
    held += 1;
    await released;
    await route.continue().catch(() => undefined);
  });
  if (press.startsWith("#")) await page.goto(url + press);
  else await page.locator(press).first().click();
  await expect.poll(() => held).toBeGreaterThan(0);
  await expect.poll(isShown).toBe(true);
  release();
  await settled();
  await expect.poll(isShown).toBe(false);
});
