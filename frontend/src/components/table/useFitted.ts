import { useMemo, type RefObject } from "react";

import { useWidth } from "../useWidth";
import type { Column } from "./features";
import { fittingColumns, type Fitted } from "./fitting";

/** The columns that the element at hand has room for, as it is made wider and narrower. */
export function useFitted<Row extends object>(
  columns: Column<Row>[],
  sortKey: string,
): [RefObject<HTMLDivElement | null>, Fitted<Row>] {
  const [ref, width] = useWidth<HTMLDivElement>();
  const fitted = useMemo(() => fittingColumns(columns, width, sortKey), [columns, width, sortKey]);
  return [ref, fitted];
}
