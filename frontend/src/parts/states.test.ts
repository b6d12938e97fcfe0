import { expect, test } from "vitest";

import { progressText } from "./states";

test("stage, bytes and events, as far as they are known", () => {
  const waiting = { stage: "waiting", done: null, bytes: null, events: null };
  expect(progressText(null, 10)).toBe("asking the server");
  expect(progressText(waiting, 10)).toBe("waiting for the reader");
  expect(
    progressText({ stage: "decoding", done: 0.4, bytes: 1_612_000, events: 92_160 }, 4_029_954),
  ).toBe("reading events · 1.6 MB of 4.0 MB · 92,160 events");
  expect(progressText({ stage: "columns", done: null, bytes: 10, events: 1 }, 10)).toBe(
    "building columns · 1 event",
  );
  expect(progressText({ ...waiting, stage: "weaving" }, 10)).toBe("weaving");
});
