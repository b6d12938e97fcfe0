import { oneOf, record, whole } from "../../text/query";

/** What makes one row of the table. */
export const OPERATOR_GROUPS = ["name", "shape", "stack", "module"] as const;
export type OperatorGroup = (typeof OPERATOR_GROUPS)[number];

/** What an address says of the view of operators, apart from search and sort. */
export const OPERATORS = record({
  group: oneOf("operators", OPERATOR_GROUPS, "name"),
  /** Counted from 0. */
  page: whole("operatorpage", 0),
  /** Id of the selected row. */
  row: whole("operator", null),
});
