import { expect, test } from "vitest";

import type { Column } from "./props";
import { fittingColumns, LEAST_FREE_WIDTH, tableStyle } from "./widths";

type Row = Record<string, number>;

function column(id: string, width: number, yields?: number): Column<Row> {
  const definition = { title: id, text: id };
  return {
    id,
    accessorFn: (row) => row[id],
    meta: { definition, width, align: "end", ...(yields === undefined ? {} : { yields }) },
  };
}

const columns = [
  column("name", 0),
  column("total", 100),
  column("share", 50, 2),
  column("host", 60, 3),
  column("picture", 70, 1),
];
const least = LEAST_FREE_WIDTH + 100;

function shown(width: number, sortKey = "total"): string[] {
  return fittingColumns(columns, width, sortKey).shown.map(({ id }) => id ?? "");
}

test("all are shown where there is room, and before the width is known", () => {
  const all = ["name", "total", "share", "host", "picture"];
  expect(shown(least + 180)).toEqual(all);
  expect(shown(0)).toEqual(all);
});

test("one after the other gives way, and what is hidden is named", () => {
  expect(shown(least + 179)).toEqual(["name", "total", "share", "host"]);
  expect(shown(least + 109)).toEqual(["name", "total", "host"]);
  expect(shown(10)).toEqual(["name", "total"]);
  const { hidden } = fittingColumns(columns, 10, "total");
  expect(hidden.map(({ id }) => id)).toEqual(["share", "host", "picture"]);
});

test("the column that rows are sorted by stays", () => {
  expect(shown(10, "share")).toEqual(["name", "total", "share"]);
});

test("without a free column all grow in proportion, so that the table fills its frame", () => {
  const fixed = [column("rank", 60), column("step", 120)];
  expect(tableStyle(fixed, {})).toMatchObject({
    "--columns": "minmax(60px,60fr) minmax(120px,120fr)",
    "--least-width": "180px",
  });
});

test("names have their room before a column that grows takes the rest", () => {
  const [name, total, picture] = [column("name", 0), column("total", 100), column("picture", 70)];
  const grows = { ...picture, meta: { ...picture.meta, grows: true } } as Column<Row>;
  expect(tableStyle([name, total, grows], {})).toMatchObject({
    "--columns": "minmax(210px,max(340px,30%)) 100px minmax(70px,1fr)",
  });
  expect(tableStyle([name, total], {})).toMatchObject({ "--columns": "minmax(210px,1fr) 100px" });
});
