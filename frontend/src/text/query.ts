/** What an address says, each field declared once: its name, how it is written, what it is without. */

/** How a value stands in the query of an address; what is at its start is left out. */
export interface Codec<T> {
  readonly start: T;
  write(value: T, query: URLSearchParams): void;
  /** What the query does not say, or says wrongly, is at its start. */
  read(query: URLSearchParams): T;
}

/** What is read with a codec. */
export type Read<C> = C extends Codec<infer T> ? T : never;

/** A value of one name; `parse` gives undefined for a text that is none. */
export function field<T>(
  name: string,
  start: T,
  parse: (text: string) => T | undefined,
  write: (value: T) => string = String,
): Codec<T> {
  return {
    start,
    write: (value, query) => {
      if (value !== start) query.set(name, write(value));
    },
    read: (query) => {
      const text = query.get(name);
      return (text === null ? undefined : parse(text)) ?? start;
    },
  };
}

/** Any text; null without. */
export function text(name: string): Codec<string | null> {
  return field<string | null>(name, null, (value) => value);
}

/** A search; "" without. */
export function search(name: string): Codec<string> {
  return field(name, "", (value) => value);
}

export function oneOf<const T extends string, Start extends T | null>(
  name: string,
  values: readonly T[],
  start: Start,
): Codec<T | Start> {
  return field<T | Start>(name, start, (value) => values.find((known) => known === value));
}

/** A whole number from 0. */
export function whole<Start extends number | null>(
  name: string,
  start: Start,
): Codec<number | Start> {
  return field<number | Start>(name, start, (value) =>
    /^\d{1,9}$/.test(value) ? Number(value) : undefined,
  );
}

/** Whether the name has this value. */
export function flag(name: string, value: string): Codec<boolean> {
  return field(
    name,
    false,
    (found) => found === value,
    () => value,
  );
}

/** All values of a name; the same empty list wherever there is none. */
export function texts(name: string): Codec<readonly string[]> {
  const start: readonly string[] = [];
  return {
    start,
    write: (values, query) => {
      for (const value of values) query.append(name, value);
    },
    read: (query) => (query.has(name) ? query.getAll(name) : start),
  };
}

/** Fields together, written in the order of their declaration. */
export function record<T extends object>(fields: {
  readonly [K in keyof T]: Codec<T[K]>;
}): Codec<T> {
  const entries = Object.entries<Codec<T[keyof T]>>(fields) as [keyof T, Codec<T[keyof T]>][];
  const of = (value: (codec: Codec<T[keyof T]>) => T[keyof T]): T =>
    Object.fromEntries(entries.map(([key, codec]) => [key, value(codec)])) as T;
  return {
    start: of(({ start }) => start),
    write: (value, query) => {
      for (const [key, codec] of entries) codec.write(value[key], query);
    },
    read: (query) => of((codec) => codec.read(query)),
  };
}
