import { expect, test } from "vitest";

import { traceOptions } from "./names";

test("traces are chosen by their time, and by their id where that does not tell them apart", () => {
  const times = [1, 2, 2, Number.NaN];
  const texts = traceOptions(times.map((modified, at) => ({ id: `t${at}`, modified }))).map(
    ({ text }) => text.replace(/^[^(]+(?= \(|$)/, "time"),
  );
  expect(texts).toEqual(["time", "time (t1)", "time (t2)", "(t3)"]);
});
