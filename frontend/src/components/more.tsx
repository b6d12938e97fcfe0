import { useState, type ReactElement } from "react";

import { count } from "../text/formats";

const FIRST = 8;

/** The first rows of a list, and a button that shows the others; null where these are all. */
export function useMore<Row>(
  rows: readonly Row[],
  first = FIRST,
): [shown: readonly Row[], more: ReactElement | null] {
  const [all, setAll] = useState(false);
  if (rows.length <= first) return [rows, null];
  const more = (
    <button type="button" className="link" aria-expanded={all} onClick={() => setAll(!all)}>
      {all ? `Show ${first}` : `Show all ${count(rows.length)}`}
    </button>
  );
  return [all ? rows : rows.slice(0, first), more];
}
