/** What makes one row of the table. */
export const OPERATOR_GROUPS = ["name", "shape", "stack", "module"] as const;
export type OperatorGroup = (typeof OPERATOR_GROUPS)[number];

/** What an address says of the view of operators, apart from search and sort. */
export interface OperatorsPlace {
  group: OperatorGroup;
  /** Counted from 0. */
  page: number;
  /** Id of the selected row. */
  row: number | null;
}

export const NO_OPERATORS: OperatorsPlace = { group: "name", page: 0, row: null };

export function operatorsToQuery(place: OperatorsPlace, query: URLSearchParams): void {
  if (place.group !== NO_OPERATORS.group) query.set("operators", place.group);
  if (place.page > 0) query.set("operatorpage", String(place.page));
  if (place.row !== null) query.set("operator", String(place.row));
}

export function operatorsFromQuery(query: URLSearchParams): OperatorsPlace {
  return {
    group: OPERATOR_GROUPS.find((name) => name === query.get("operators")) ?? NO_OPERATORS.group,
    page: whole(query.get("operatorpage")) ?? 0,
    row: whole(query.get("operator")),
  };
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
