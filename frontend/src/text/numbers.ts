/** Arithmetic with numbers that may be missing, and the order of rows by them. */

export interface Sort<Key extends string = string> {
  key: Key;
  descending: boolean;
}

/** Ascending for sign 1, descending for -1; nothing comes last either way. */
export function compareNumbers(
  a: number | null | undefined,
  b: number | null | undefined,
  sign: number,
): number {
  const left = a ?? null;
  const right = b ?? null;
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return sign * (left - right);
}

/** a / b, null where one is missing or b is nothing. */
export function ratio(a: number | null, b: number | null): number | null {
  return a === null || b === null || b <= 0 ? null : a / b;
}

/** value / by, null where there is no value. */
export function over(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

/** total - part, null where there is no total. */
export function without(total: number | null, part: number | null): number | null {
  return total === null ? null : total - (part ?? 0);
}

/** The sum of what is known; null where nothing is. */
export function sumOf(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (sum, value) => (value === null ? sum : (sum ?? 0) + value),
    null,
  );
}

/** Numbers or texts in order, texts as people sort them; what is missing is last, whatever the order. */
export function compareValues(
  a: string | number | null,
  b: string | number | null,
  sign: number,
): number {
  if (typeof a === "string" && typeof b === "string") return sign * COLLATOR.compare(a, b);
  if (typeof a === "string" || typeof b === "string")
    return Number(a === null) - Number(b === null);
  return compareNumbers(a, b, sign);
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Rows of one key together, keys and rows in the order in which they come. */
export function groupBy<Row, Key>(
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
): Map<Key, [Row, ...Row[]]> {
  const groups = new Map<Key, [Row, ...Row[]]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}
