import { expect, test } from "vitest";

import type { PathWork } from "../api/schema";
import { report } from "../testing/report";
import { drawnPath, OUTSIDE, pathHeads, pathSegments, segmentText } from "./pathBar";

const work = (part: string, us: number, rest: Partial<PathWork> = {}): PathWork => ({
  id: `${part}:${rest.phase ?? ""}:${rest.name ?? ""}`,
  part,
  phase: null,
  name: null,
  us,
  ...rest,
});

test("what is long has a name of its own, the rest is summed up with its like", () => {
  const segments = pathSegments(
    report({
      critical_path_work: [
        work("host", 60, { name: "preprocess in video.py(129)" }),
        work("device", 30, { phase: "backward", name: "matrix" }),
        work("device", 3, { phase: "backward", name: "copy" }),
        work("device", 2, { phase: "backward", name: "reduction" }),
        work("communication", 5),
      ],
    }),
  );
  expect(segments.map(({ label, us }) => [label, us])).toEqual([
    ["preprocess in video.py(129)", 60],
    ["GEMM", 30],
    ["copy, reduction", 5],
    ["communication", 5],
  ]);
  expect(segments.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(pathHeads(segments).map(({ text }) => text)).toEqual(["host", "device, backward", ""]);
  expect(segments.map(segmentText)).toContain("host, preprocess in video.py(129)");
});

test("named host work in a phase stands beside the rest of the phase", () => {
  const named = { phase: "forward", name: "dispatch(F)" };
  const rows = [work("host", 60, named), work("host", 40, { phase: "forward" })];
  const segments = pathSegments(report({ critical_path_work: rows }));
  expect(segments.map(({ label }) => label)).toEqual(["forward: dispatch(F)", "forward"]);
  const short = [work("host", 3, named), work("host", 97, { phase: "forward" })];
  const merged = pathSegments(report({ critical_path_work: short }));
  expect(merged.map(({ label }) => label)).toEqual(["forward"]);
});

test("host time without a name is said to have none in the trace", () => {
  const [unnamed] = pathSegments(report({ critical_path_work: [work("host", 10)] }));
  expect(unnamed?.label).toBe("not named in the trace");
  expect(pathSegments(report())).toEqual([]);
});

test("short host work outside of phases is named by the longest of it", () => {
  const short = ["aten::to", "aten::add", "aten::cat"].map((name, at) =>
    work("host", 3 - at, { name }),
  );
  const rows = { critical_path_work: [work("host", 94), ...short] };
  expect(pathSegments(report(rows)).map(({ label, us }) => [label, us])).toEqual([
    ["not named in the trace", 94],
    ["aten::to, aten::add, …", 6],
  ]);
});

test("delays of a device that was busy with what is not in the trace say so", () => {
  const { trace } = report();
  const warnings = [
    { id: "unseen-queue", code: "unseen-queue", message: "", count: 1, severity: "high" as const },
  ];
  const rows = { critical_path_work: [work("unexplained", 10)] };
  const [outside] = pathSegments(report({ ...rows, trace: { ...trace, warnings } }));
  expect(outside?.label).toBe(OUTSIDE);
  expect(pathSegments(report(rows))[0]?.label).toBe("unexplained");
  const mostly = { critical_path_work: [work("unexplained", 90), work("host", 10)] };
  const drawn = pathSegments(report({ ...mostly, trace: { ...trace, warnings } }));
  expect(drawn.map(({ part, share }) => [part, share])).toEqual([["host", 1]]);
  expect(pathSegments(report(mostly))).toHaveLength(2);
  expect(drawnPath(report(mostly))).toHaveLength(2);
});
