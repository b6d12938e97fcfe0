import { expect, test } from "vitest";

import { placeIn, withPlace } from "./placeStore";

const PLACE = "#/syncs?run=a%2Fb+%26+c&q=1%3D1";

test.each([
  ["", "#hookview&p.hookview.place="],
  ["#hookview", "#hookview&p.hookview.place="],
  ["#timeseries", "#timeseries&p.hookview.place="],
  ["#hookview&p.other.x=%26", "#hookview&p.other.x=%26&p.hookview.place="],
  ["#p.hookview.place=old&hookview", "#hookview&p.hookview.place="],
])("TensorBoard's hash %j holds a place beside its own", (outer, expected) => {
  const held = withPlace(outer, PLACE);
  expect(held.startsWith(expected)).toBe(true);
  expect(placeIn(held)).toBe(PLACE);
  // TensorBoard takes a part as it is where it has one sign of equality at most.
  for (const part of held.slice(1).split("&")) expect(part.split("=").length).toBeLessThan(3);
});

test.each(["", "#", "#hookview", "#hookview&p.hookview.place=%", "#timeseries&runs=x"])(
  "no place in %j",
  (outer) => {
    expect(placeIn(outer)).toBe("");
  },
);
