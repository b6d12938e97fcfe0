import { expect, test } from "vitest";

import { define } from "../../text/definitions";
import type { ServerColumn } from "./ServerTable";
import { MICROSECONDS, scalesOf } from "./rows";

const TIME = define("time", "A time.", "us");
const column = (id: string, rest: Partial<ServerColumn> = {}): ServerColumn => ({
  id,
  definition: TIME,
  width: 80,
  ...rest,
});

test("a column of durations has the unit of its largest, none where it is no duration", () => {
  const rows = [
    { long: 47_137, short: 0.4, calls: 6 },
    { long: 813, short: null, calls: 9 },
  ];
  const columns = [
    column("long"),
    column("short"),
    column("calls", { definition: define("calls", "Calls.", "count") }),
  ];
  expect([...scalesOf(columns, rows)]).toEqual([
    ["long", { unit: "ms", digits: 2 }],
    ["short", { unit: "us", digits: 1 }],
  ]);
});

test("a column's own scale is used, and no rows are no error", () => {
  const own = [column("mean", { scale: MICROSECONDS })];
  expect(scalesOf(own, [{ mean: 2e6 }]).get("mean")).toBe(MICROSECONDS);
  expect(scalesOf([column("mean")], []).get("mean")).toEqual({ unit: "us", digits: 1 });
});
