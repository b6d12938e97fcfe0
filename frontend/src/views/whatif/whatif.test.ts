import { expect, test } from "vitest";

import type { WhatIf } from "../../api/schema";
import { finding } from "../../testing/findings";
import { module, report, step, work } from "../../testing/report";
import { WHATIF, parseFactor, type WhatIfPlace } from "./address";
import {
  answerText,
  gainText,
  hostClockText,
  kindRows,
  moduleRest,
  moduleRows,
  predictionOf,
  wholeOf,
  type Prediction,
} from "./answer";
import {
  added,
  allGone,
  asked,
  choices,
  factorOf,
  isChanged,
  isGone,
  nothingOf,
  scaled,
  toggled,
  unknownFindings,
  unscaled,
} from "./question";

const written = (place: WhatIfPlace): string => {
  const query = new URLSearchParams();
  WHATIF.write(place, query);
  return query.toString();
};
const read = (text: string): WhatIfPlace => WHATIF.read(new URLSearchParams(text));

test("a question survives its address", () => {
  const place = {
    without: ["sync-scalar-item", "launch-bound:head, a=b & c"],
    scale: [
      { what: "kernel:f<a = 1>(x)", factor: 0.125 },
      { what: "module:", factor: 0 },
      { what: "host", factor: 2 },
    ],
  };
  expect(read(written(place))).toEqual(place);
  expect(written(WHATIF.start)).toBe("");
});

test.each(["", "without=", "scale=", "scale=host", "scale=host=", "scale=host=-1", "scale==1"])(
  "%j asks nothing",
  (text) => {
    expect(read(text)).toBe(WHATIF.start);
  },
);

test("of what an address says twice, the last factor holds, and each finding once", () => {
  expect(read("scale=host=2&scale=host=3&without=a&without=a")).toEqual({
    without: ["a"],
    scale: [{ what: "host", factor: 3 }],
  });
});

test("a factor is a number from 0 to 1000", () => {
  expect(
    ["0", " 1.5 ", "1e3", "", " ", "x", "-1", "1001", "NaN", "Infinity"].map(parseFactor),
  ).toEqual([0, 1.5, 1000, null, null, null, null, null, null, null]);
});

const [ITEM, COPY, OTHER] = [
  finding({ id: "item:head", rule: "item" }),
  finding({ id: "copy:head", rule: "copy" }),
  finding({ id: "item:body", rule: "item" }),
];
const ALL = [ITEM, COPY, OTHER];

test("a finding is gone by itself or with its rule, and comes back alone", () => {
  const one = toggled(WHATIF.start, ITEM, ALL);
  expect(one.without).toEqual(["item:head"]);
  expect(ALL.map((each) => isGone(one, each))).toEqual([true, false, false]);
  expect(toggled(one, ITEM, ALL).without).toEqual([]);
  const all = allGone(WHATIF.start, ALL);
  expect(all.without).toEqual(["item", "copy"]);
  expect(ALL.every((each) => isGone(all, each))).toBe(true);
  expect(toggled(all, ITEM, ALL).without).toEqual(["item:body", "copy"]);
});

test("what these steps do not have is named", () => {
  const place = { ...WHATIF.start, without: ["item", "gone:x", "copy:head"] };
  expect(unknownFindings(place, ALL)).toEqual(["gone:x"]);
});

test("a factor of 1 changes nothing; something added stays in sight at 1", () => {
  const half = scaled(WHATIF.start, "host", 0.5);
  expect([factorOf(half, "host"), factorOf(half, "data")]).toEqual([0.5, 1]);
  expect(scaled(half, "host", 1)).toEqual(WHATIF.start);
  const kind = scaled(scaled(half, "kind:copy", 0.5), "kind:copy", 1);
  expect(added(kind)).toEqual([{ what: "kind:copy", factor: 1 }]);
  expect(asked(kind)).toEqual(half);
  expect([isChanged(half), isChanged(scaled(WHATIF.start, "kind:copy", 1))]).toEqual([true, false]);
  expect(unscaled(kind, "kind:copy")).toEqual(half);
});

test("what these steps have none of cannot be scaled", () => {
  const none = report();
  expect(nothingOf(none, "host")).toBeNull();
  expect(nothingOf(none, "data")).toContain("no data loading");
  expect(nothingOf(none, "syncs")).toContain("no syncs");
  expect(nothingOf(none, "communication")).toContain("no collectives");
  expect(nothingOf(none, "kernels")).toContain("no device events");
  const { totals } = none;
  const some = report({
    steps: [step("1", { data_us: 1 })],
    totals: { ...totals, sync_count: 2, profiler_sync_count: 1, communication_device_us: 3 },
  });
  expect(nothingOf(some, "data")).toBeNull();
  expect(nothingOf(some, "syncs")).toBeNull();
  expect(nothingOf(some, "communication")).toBeNull();
  const profiler = { ...totals, sync_count: 1, profiler_sync_count: 1 };
  expect(nothingOf(report({ totals: profiler }), "syncs")).toContain("no syncs");
  const gloo = { ...report().per_step, communication_wait_us: 40 };
  expect(nothingOf(report({ per_step: gloo }), "communication")).toContain("on the host");
});

test("what can be added by name comes most expensive first, a step each", () => {
  const { totals } = report();
  const made = report({
    steps: [step("1"), step("2")],
    totals: { ...totals, device_us_by_kind: { matrix: 16, copy: 40, set: 0 } },
    modules: [
      module("", null, { forward: work(6), backward: work(12) }),
      module("head", "", { forward: work(1), backward: work(3) }),
    ],
  });
  expect(choices(made, "kind").map(({ text }) => text)).toEqual([
    "copy · 20.0 us",
    "GEMM · 8.0 us",
  ]);
  expect(choices(made, "module")).toEqual([
    { name: "", text: "(root) · 9.0 us" },
    { name: "head", text: "head · 2.0 us" },
  ]);
  expect(choices(made, "kernel")).toEqual([]);
});

const PATH = { host: 10, data: 0, device: 70, communication: 0, wait: 15, unexplained: 5 };
const ANSWER: WhatIf = {
  step_us: 101,
  replayed_us: 100,
  predicted_us: 60,
  unrecorded_us: null,
  unrecorded_predicted_us: null,
  low_us: 55,
  high_us: 61,
  unexplained_us: 5,
  launches_known: 0.95,
  critical_path: { ...PATH, host: 40, device: 0 },
  replayed_path: PATH,
  path_modules: [
    { module: null, module_id: null, path: PATH, slack_us: 0 },
    { module: "", module_id: 0, path: { ...PATH, host: 0 }, slack_us: null },
  ],
  path_modules_left_out: 2,
  path_modules_rest: { ...PATH, data: 0 },
  path_kinds: [{ kind: "matrix", device_us: 9, path_us: 4, slack_us: 1.5 }],
  steps: 3,
  refused: null,
  as_recorded: [],
};

function predicted(rest: Partial<WhatIf> = {}): Prediction {
  const prediction = predictionOf({ ...ANSWER, ...rest });
  if (prediction === null) throw new Error("refused");
  return prediction;
}

test("parts sum to the bars, and the largest decides", () => {
  const prediction = predicted();
  const sum = (side: "before" | "after"): number =>
    prediction.parts.reduce((total, row) => total + row[side], 0);
  expect([sum("before"), sum("after")]).toEqual([100, 60]);
  expect(prediction.decides).toEqual({ part: "host", share: 40 / 60 });
  expect(prediction.error).toBeCloseTo(1 / 101);
  expect(wholeOf(prediction)).toBe(100);
  expect(wholeOf(predicted({ predicted_us: 200, high_us: 210 }))).toBe(210);
});

test("an answer is said in a sentence", () => {
  expect(answerText(predicted(), true, "per step")).toBe(
    "Was 100.0 us per step, would be 60.0 us (between 55.0 us and 61.0 us).",
  );
  expect(answerText(predicted({ low_us: 60, high_us: 60 }), true, "in this trace")).toContain(
    "(both bounds agree)",
  );
  expect(answerText(predicted(), false, "per step")).toContain(
    "takes 100.0 us in a replay with nothing",
  );
});

test("where the replay's step is not the step of the other views, the answer says why", () => {
  const { verdict } = report();
  const longer = report({ verdict: { ...verdict, step_us: 120 } });
  expect(hostClockText(longer)).toBe(
    "A step takes 100.0 us on the host's clock, and 120.0 us until the device finishes.",
  );
  expect(hostClockText(report())).toBeNull();
});

test.each([
  [60, "40.0 us less (40.0%)"],
  [150, "50.0 us more (50.0%)"],
  [100, "no change"],
  [99.99, "no change"],
])("a step of %s us is %s", (us, text) => {
  expect(gainText(predicted({ predicted_us: us }))).toBe(text);
});

test("what was refused predicts nothing", () => {
  const { launches_known, steps } = ANSWER;
  const refused = Object.fromEntries(Object.keys(ANSWER).map((key) => [key, null]));
  const answer = { ...refused, launches_known, steps, refused: "why" } as WhatIf;
  expect(predictionOf(answer)).toBeNull();
});

test("a module's time on the path is that of all parts, and those not listed are counted", () => {
  const whole = Object.values(PATH).reduce((sum, us) => sum + us, 0);
  expect(moduleRows(ANSWER)).toEqual([
    { name: "not in a module", path: whole, slack: 0 },
    { name: "(root)", path: whole - PATH.host, slack: null },
  ]);
  expect(moduleRest(ANSWER)).toEqual({ modules: 2, path: whole - PATH.data });
  expect(moduleRest({ ...ANSWER, path_modules_left_out: 0 })).toBe(null);
  expect(kindRows(ANSWER)).toEqual([{ name: "GEMM", path: 4, slack: 1.5 }]);
});
