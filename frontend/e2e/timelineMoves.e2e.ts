import type { Locator } from "playwright-core";
import { expect } from "vitest";

import { drawn as drawnOn, parameter as parameterOf } from "./canvas";
import { page, test, url, visiting } from "./scene";

visiting("#/timeline?run=device", () => drawn());

const canvas = (): Locator => page.getByRole("application", { name: /^Timeline/ });
const selection = (): Locator => page.getByRole("region", { name: "Selection" });

const drawn = (): Promise<void> => drawnOn(canvas());
const parameter = (name: string): string | null => parameterOf(page.url(), name);

test("keys zoom and pan; the address follows without steps in the history", async () => {
  const steps = await page.evaluate(() => window.history.length);
  await page.keyboard.press("w");
  await page.keyboard.press("w");
  await expect.poll(() => parameter("to")).not.toBeNull();
  const [from, to] = [Number(parameter("from")), Number(parameter("to"))];
  const whole = await fetch(`${url}api/timeline?run=device&worker=gpu0`);
  const { duration_us } = (await whole.json()) as { duration_us: number };
  expect((to - from) / duration_us).toBeCloseTo(0.65 ** 2, 1);
  await page.keyboard.press("d");
  await expect.poll(() => Number(parameter("from"))).toBeGreaterThan(from);
  expect(await page.evaluate(() => window.history.length)).toBe(steps);
  await page.keyboard.press("0");
  await expect.poll(() => parameter("from")).toBeNull();
});

test("the wheel zooms at the pointer with ctrl, and pans with shift", async () => {
  const box = await canvas().boundingBox();
  if (box === null) throw new Error("no canvas");
  await page.mouse.move(box.x + box.width / 4, box.y + 50);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -600);
  await page.keyboard.up("Control");
  await expect.poll(() => parameter("to")).not.toBeNull();
  const [from, to] = [Number(parameter("from")), Number(parameter("to"))];
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, 200);
  await page.keyboard.up("Shift");
  await expect.poll(() => Number(parameter("from"))).toBeGreaterThan(from);
  expect(Number(parameter("to")) - Number(parameter("from"))).toBeCloseTo(to - from, 1);
});

test("the minimap moves what is in view", async () => {
  await page.goto(`${url}#/timeline?run=device&from=0&to=100`);
  const box = await page.locator(".chart-minimap").boundingBox();
  if (box === null) throw new Error("no minimap");
  await page.mouse.click(box.x + box.width / 2, box.y + 10);
  await expect.poll(() => Number(parameter("from"))).toBeGreaterThan(100);
  expect(Number(parameter("to")) - Number(parameter("from"))).toBeCloseTo(100, 1);
});

test("two fingers zoom, one pans", async () => {
  const touch = await page.context().newCDPSession(page);
  const box = await canvas().boundingBox();
  if (box === null) throw new Error("no canvas");
  const send = (type: "touchStart" | "touchMove" | "touchEnd", ...shares: number[]) =>
    touch.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: shares.map((share, id) => ({ x: box.x + share * box.width, y: box.y + 40, id })),
    });
  await send("touchStart", 0.4, 0.6);
  await send("touchMove", 0.3, 0.7);
  await send("touchMove", 0.2, 0.8);
  await send("touchEnd");
  await expect.poll(() => parameter("from")).not.toBeNull();
  const [from, to] = [Number(parameter("from")), Number(parameter("to"))];
  await send("touchStart", 0.6);
  await send("touchMove", 0.5);
  await send("touchMove", 0.4);
  await send("touchEnd");
  await expect.poll(() => Number(parameter("from"))).toBeGreaterThan(from);
  expect(Number(parameter("to")) - Number(parameter("from"))).toBeCloseTo(to - from, 1);
  expect(parameter("range")).toBeNull();
});

test("parts that do not come are reported, and come later", async () => {
  await page.route("**/api/timeline/window?*", (route) => route.abort());
  await page.keyboard.press("w");
  await page.keyboard.press("w");
  await page.keyboard.press("w");
  await page.getByRole("alert").getByText("Parts are missing").waitFor();
  await drawn();
  await page.unroute("**/api/timeline/window?*");
  await page.getByRole("alert").waitFor({ state: "detached" });
});

test("what moves smoothly arrives where it should", async () => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.goto(`${url}#/timeline?run=device&from=100&to=200`);
  await page.keyboard.press("0");
  await expect.poll(() => parameter("from")).toBeNull();
  await page.goBack();
  await page.keyboard.press("Shift+ArrowDown");
  await selection().getByRole("heading").first().waitFor();
});
