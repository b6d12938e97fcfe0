import { describe, expect, test } from "vitest";

import { tableCsv, tableMarkdown, type TextColumn } from "./tableText";

const COLUMNS: TextColumn[] = [
  { title: "module" },
  { title: "device total", unit: "us" },
  { title: "share", unit: "fraction" },
];

describe("CSV", () => {
  test("holds raw numbers, and says their unit in the head", () => {
    expect(tableCsv(COLUMNS, [["head", 1234.5678, 0.25]])).toBe(
      "module,device total (us),share (fraction)\r\nhead,1234.5678,0.25",
    );
  });

  test("leaves empty what is unknown", () => {
    expect(tableCsv(COLUMNS, [["head", null, Number.NaN]])).toMatch(/\r\nhead,,$/);
  });

  test("keeps every name in its cell", () => {
    const rows = [[`a,"b"\nc`, 0, 0]];
    expect(tableCsv(COLUMNS, rows)).toMatch(/\r\n"a,""b""\nc",0,0$/);
  });

  test.each(["=1+1", "+1", "-x", "@SUM(A1)", "\t=1"])("lets no spreadsheet run %j", (name) => {
    expect(tableCsv(COLUMNS, [[name, -1, 0]])).toContain(`\r\n'${name},-1,0`);
  });
});

describe("Markdown", () => {
  test("writes numbers as the page does, and sets them to the right", () => {
    expect(tableMarkdown(COLUMNS, [["head", 1234.5678, null]]).split("\n")).toEqual([
      "| module | device total | share |",
      "| --- | ---: | --- |",
      "| head | 1.23 ms | — |",
    ]);
  });

  test("lets no name leave its cell or become markup", () => {
    const name = "a|b\n![x](http://h/) <img> `c` *d*";
    const line = tableMarkdown(COLUMNS, [[name, 1, 1]]).split("\n")[2] ?? "";
    expect(line.replace(/\\./g, "").match(/\|/g)).toHaveLength(4);
    expect(line.replace(/\\./g, "")).not.toMatch(/[[\]<>`*!]/);
  });
});
