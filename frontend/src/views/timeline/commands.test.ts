import { expect, test } from "vitest";

import { commandOf } from "./commands";

const press = (key: string, held: Partial<Parameters<typeof commandOf>[0]> = {}): unknown =>
  commandOf({ key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...held });

test("letters and arrows move about", () => {
  expect(press("w")).toMatchObject({ do: "zoom" });
  expect(press("W", { shiftKey: true })).toEqual(press("w"));
  expect(press("ArrowLeft")).toEqual(press("a"));
  expect(press("+", { shiftKey: true })).toEqual(press("w"));
  expect(press("F")).toEqual({ do: "fit" });
});

test("with shift, arrows move the selection", () => {
  expect(press("ArrowDown", { shiftKey: true })).toEqual({ do: "select", direction: "below" });
  expect(press("N", { shiftKey: true })).toEqual({ do: "previousHit" });
});

test("what the browser has a use for is left to it", () => {
  expect(press("f", { ctrlKey: true })).toBeNull();
  expect(press("ArrowLeft", { altKey: true })).toBeNull();
  expect(press("Tab")).toBeNull();
  expect(press("constructor")).toBeNull();
});
