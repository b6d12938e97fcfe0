import { expect, test } from "vitest";

import { BARS, chartOf } from "./Answer";

const column = (name: string, type: string): { name: string; type: string } => ({ name, type });

test("the last numbers become bars, labelled by all texts", () => {
  const columns = [
    column("kind", "string"),
    column("n", "int64"),
    column("module", "string"),
    column("us", "double"),
  ];
  const rows = [
    ["copy", 1, "a", 2.5],
    ["matrix", 2, null, null],
  ];
  expect(chartOf({ columns, rows, total: 2 })).toEqual({
    measure: "us",
    bars: [
      { label: "copy · a", value: 2.5 },
      { label: "matrix · —", value: 0 },
    ],
    left: 0,
  });
});

test("an id is no amount", () => {
  const text = column("name", "string");
  const id = column("module_id", "int64");
  const rows = [
    ["a", 2.5, 7],
    ["b", 1.5, 8],
  ];
  const columns = [text, column("us", "double"), id];
  expect(chartOf({ columns, rows, total: 2 })?.measure).toBe("us");
  const ids = rows.map(([name, , last]) => [name, last]);
  expect(chartOf({ columns: [text, id], rows: ids, total: 2 })).toBeNull();
});

test("what bars cannot say has no chart", () => {
  const text = column("kind", "string");
  const number = column("n", "int64");
  const two = [
    ["a", 1],
    ["b", 2],
  ];
  expect(chartOf({ columns: [text, number], rows: two.slice(1), total: 1 })).toBeNull();
  expect(chartOf({ columns: [number], rows: [[1], [2]], total: 2 })).toBeNull();
  expect(chartOf({ columns: [text], rows: [["a"], ["b"]], total: 2 })).toBeNull();
  const negative = [
    ["a", -1],
    ["b", 2],
  ];
  expect(chartOf({ columns: [text, number], rows: negative, total: 2 })).toBeNull();
});

test("rows that have no bar are counted", () => {
  const rows = Array.from({ length: BARS + 3 }, (_, index) => [String(index), index]);
  const columns = [column("kind", "string"), column("n", "decimal128(38, 0)")];
  const chart = chartOf({ columns, rows, total: rows.length });
  expect([chart?.bars.length, chart?.left]).toEqual([BARS, 3]);
});
